"""Probe prompts: never the same twice, and as long as asked."""

from inference_app.prompts import PromptMaker


def test_no_two_prompts_share_a_beginning() -> None:
    maker = PromptMaker(seed=1)
    beginnings = {maker.prompt(50).split()[0] for _ in range(200)}
    assert len(beginnings) == 200


def test_length_is_corrected_by_what_the_engine_counts() -> None:
    maker = PromptMaker(seed=1)

    def engine_counts(prompt: str) -> int:
        nonce, *words = prompt.split()
        return 31 + len(nonce) + len(words)  # a template of 31 tokens, a token for each digit

    asked = 24
    maker.learn(asked, engine_counts(maker.prompt(asked)))
    assert engine_counts(maker.prompt(200)) == 200
    assert maker.prompt(1).split(), "never empty, however short"
