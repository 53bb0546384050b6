"""The quick question: does it fit, what is the most that would, and what if it does not?"""

import json

import pytest


def test_a_card_is_filled_part_by_part(run) -> None:
    result = run("size", "Qwen2.5-7B-Instruct", "--gpu", "RTX 3090", "--concurrency", "4")

    assert (result.exit_code, result.stderr) == (0, "")
    for expected in (
        "weights      14.19",
        "as CUDA reports it, of 24 GB as sold",
        "largest: 12 req",
    ):
        assert expected in result.stdout


def test_machines_get_bytes_and_sources(run) -> None:
    result = run("size", "Llama-3.1-8B.Q4_K_M.gguf", "--gpu", "l4", "--kv-dtype", "q8_0", "--json")

    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (found["engine"], found["precision"], found["verdict"]) == ("llamacpp", "q4_k_m", "fits")
    assert found["headroom"] == found["kv_room"] - found["kv"]
    assert found["missing"] == 0
    assert all(found["sources"].values())


def test_16_gb_is_too_little_for_7b_in_16_bit_and_what_would_do_is_named(run) -> None:
    result = run("size", "Qwen2.5-7B-Instruct", "--gpu", "t4")

    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert "the weights do not fit on 1 x Tesla T4, " in line
    assert "GiB missing" in line
    for remedy in ("precision awq", "2 x Tesla T4", "(24 GB)"):
        assert remedy in line.partition("nearest: ")[2]


def test_too_large_a_batch_gets_other_remedies(run) -> None:
    asked = ("size", "Qwen2.5-7B-Instruct", "--gpu", "RTX 3090", "--concurrency")
    result = run(*asked, "40", "--json")

    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert found["verdict"] == "batch_does_not_fit"
    fewer, shorter, larger = found["nearest"]
    assert fewer == f"{found['largest_concurrency']} requests of 8192 tokens"
    assert shorter == f"40 requests of {found['largest_context']} tokens"
    assert "GB)" in larger
    assert run(*asked, str(found["largest_concurrency"])).exit_code == 0
    assert run(*asked, "40", "--context", str(found["largest_context"])).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("Qwenn2.5-7B-Instruct",), 2, "did you mean 'Qwen2.5-7B-Instruct'?"),
        (("nothing",), 2, "a name has family and size"),
        (("Qwen3-8B", "--gpu", "RTX 4099"), 2, "did you mean 'rtx4090'?"),
        (("Qwen3-8B", "--precision", "awk"), 2, "did you mean 'awq'?"),
        (("Qwen3-8B", "--kv-dtype", "fp9"), 2, "did you mean 'fp8'?"),
        (("Qwen3-8B", "--context", "1M"), 1, "was trained for 40960; nearest: 40960"),
        (("Qwen3-8B", "--context", "many"), 2, "needed a token count"),
        (("Qwen2.5-7B", "--count", "8"), 1, "cannot share the 28 heads and 4 KV heads"),
        (("Qwen3-4B", "--gpu", "p4"), 1, "needs 7.0; nearest: precision q8_0"),
        (("Qwen3-4B", "--gpu", "t4", "--precision", "fp8"), 1, "nearest: precision bf16 or"),
        (("Qwen3-8B", "--count", "4", "--tp", "3"), 2, "--tp 3 does not divide --count 4"),
    ],
)
def test_what_is_wrong_is_one_line_with_the_nearest_that_works(
    run, arguments: tuple[str, ...], status: int, said: str
) -> None:
    card = () if "--gpu" in arguments else ("--gpu", "l4")
    result = run("size", *arguments, *card)

    assert (result.exit_code, result.stdout) == (status, "")
    (line,) = result.stderr.splitlines()
    assert said in line


def test_a_card_on_which_the_engine_has_ended_is_named_by_no_remedy_and_noted(run) -> None:
    small = run("size", "Llama-2-7b-chat-hf", "--gpu", "t4", "--context", "2048")
    ended = run("size", "Llama-2-7b-chat-hf", "--gpu", "V100 PCIe 32GB")

    # The V100 of 16 GB would hold it, and is the smallest card that does.
    assert small.stderr.rstrip().endswith("or A10G (AWS) (24 GB)")
    assert ended.exit_code == 0
    assert "note: Volta (compute capability 7.0) ends with CUDA 12 and driver R580" in ended.stdout


def test_an_engine_may_reserve_for_too_many_sequences(run) -> None:
    result = run("size", "gpt-oss-120b", "--gpu", "h100")

    # vllm-project/vllm issue 27508: it does not start with what vLLM reserves by itself.
    assert result.exit_code == 1
    assert "nearest: max_num_seqs 512 instead of 1024 or 2 x H100" in result.stderr


def test_pipelines_share_by_layers(run) -> None:
    asked = ("size", "Llama-3.3-70B-FP8", "--gpu", "l40s", "--json")
    alone, staged = run(*asked), run(*asked, "--count", "4", "--tp", "2")

    assert alone.exit_code == 1
    assert staged.exit_code == 0
    assert json.loads(staged.stdout)["pipeline_parallel"] == 2
    assert json.loads(staged.stdout)["weights"] < json.loads(alone.stdout)["weights"] / 3
