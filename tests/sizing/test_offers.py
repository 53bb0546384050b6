"""Which cards serve a model: the memory first, then bandwidth, compute, and price."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warmfleet.catalog.gpu import Gpu, find_gpu, gpus
from warmfleet.catalog.llm import llms
from warmfleet.sizing.demand import Demand
from warmfleet.sizing.deployment import Promise
from warmfleet.sizing.engine_memory import EngineMemory
from warmfleet.sizing.offer import Asked, Offer
from warmfleet.sizing.offers import offers
from warmfleet.sizing.precision import find_precision

SHAPES = {model.id: model.architecture for model in llms()}
SEVEN = "Qwen/Qwen2.5-7B-Instruct"
USUAL = [find_gpu(name) for name in ("t4", "rtx3090", "a100-pcie-40", "h100-sxm")]


def _engine(_gpu: Gpu) -> EngineMemory:
    return EngineMemory()


def _asked(
    model: str = SEVEN,
    precision: str = "fp16",
    *demands: Demand,
    context: int = 8192,
    ttft_s: float | None = None,
    stream: float = 0,
    engine=_engine,
) -> Asked:
    return Asked(
        SHAPES[model],
        find_precision(precision),
        demands or (Demand(0.5, 900, 250),),
        Promise(0.999, ttft_s, stream),
        context,
        engine,
        peak=1.93,
    )


def _first(asked: Asked, cards: list[Gpu] | None = None) -> Offer:
    return offers(asked, cards or gpus()).ranked[0]


def test_seven_billion_in_16_bit_are_too_many_for_16_gb_and_at_ease_in_24() -> None:
    found = offers(_asked(), USUAL, counts=(1,))

    t4 = next(refusal for refusal in found.refused if refusal.layout.gpu.id == "t4")
    assert t4.missing_bytes == pytest.approx(2.9 * 2**30, rel=0.05)
    assert "14.2 GiB of weights" in t4.reason
    assert "2.9 GiB missing" in t4.reason
    best = found.ranked[0]
    assert best.layout.gpu.id == "rtx3090"
    assert best.comfortable
    held = best.fit
    used = held.weights + held.activation + held.non_torch + held.graphs + held.kv
    assert 17.5e9 < used < 19e9


@pytest.mark.parametrize(
    ("asked", "card"),
    [
        pytest.param(_asked("BAAI/bge-m3", "fp16", Demand(20, 300, 0), context=512, ttft_s=0.2),
                     (1, "t4"), id="embedding"),
        pytest.param(_asked(stream=20, ttft_s=0.8), (1, "rtx3090"), id="chat with 7B"),
        pytest.param(_asked("Qwen/Qwen2.5-14B-Instruct", "bf16", stream=20, ttft_s=0.8),
                     (1, "a100-pcie-40"), id="14B"),
        pytest.param(_asked("01-ai/Yi-34B", "awq", context=4096, stream=15, ttft_s=1),
                     (1, "a100-pcie-40"), id="34B in 4 bit"),
        pytest.param(_asked("meta-llama/Llama-3.1-70B-Instruct", "bf16", Demand(20, 900, 250),
                     stream=15, ttft_s=1), (4, "h100-sxm"), id="70B with much load"),
    ],
)  # fmt: skip
def test_of_the_usual_cards_each_scenario_comes_to_its_own(
    asked: Asked, card: tuple[int, str]
) -> None:
    best = _first(asked, USUAL)

    assert (best.layout.count, best.layout.gpu.id) == card


def test_the_whole_catalog_gives_the_smallest_that_does() -> None:
    assert _first(_asked(stream=20, ttft_s=0.8)).layout.gpu.id == "rtx3090"
    light = _asked("BAAI/bge-m3", "fp16", Demand(20, 300, 0), context=512, ttft_s=0.2)
    assert _first(light).layout.gpu.id == "t4"


def test_a_known_rent_decides_before_the_rest() -> None:
    rents = {"h100-sxm": 1.0, "rtx3090": 1.5}

    ranked = offers(_asked(), USUAL, rents=rents).ranked

    assert [offer.layout.gpu.id for offer in ranked[:2]] == ["h100-sxm", "rtx3090"]
    assert ranked[0].rent == 2.0
    assert ranked[-1].rent is None


def test_what_falls_short_says_of_what_and_by_how_much() -> None:
    slow = offers(_asked(stream=60), USUAL, counts=(1,)).refused
    late = offers(_asked(ttft_s=0.05), USUAL, counts=(1,)).refused
    long = offers(_asked(context=131_072), USUAL, counts=(1,)).refused

    assert any("tokens/s of 60" in refusal.reason for refusal in slow)
    assert any("ms later than 0.05 s" in refusal.reason for refusal in late)
    assert any("nearest: a context of" in refusal.reason for refusal in long)


@pytest.mark.parametrize(
    ("card", "count", "precision", "said"),
    [
        ("p4", 1, "fp16", "not known"),
        ("v100-sxm2-32", 1, "awq", "compute capability 7.0; awq needs 7.5"),
        ("mi300x", 1, "awq", "not for AMD"),
        ("a16", 2, "fp16", "4 on a board"),
        ("gh200-96", 2, "fp16", "one to a host"),
        ("h100-sxm", 8, "fp16", "28 heads cannot be divided over 8 cards"),
    ],
)
def test_what_cannot_be_built_is_refused(card: str, count: int, precision: str, said: str) -> None:
    found = offers(_asked(SEVEN, precision), [find_gpu(card)], counts=(count,))

    assert not found.ranked
    assert said in found.refused[0].reason


def test_what_only_reads_needs_no_sampler() -> None:
    read = _first(_asked("BAAI/bge-m3", "fp16", Demand(20, 300, 0), context=512))
    write = _first(_asked("BAAI/bge-m3", "fp16", Demand(20, 300, 1), context=512))

    # 9.7 x 256 sequences x 250002 words x 4 bytes
    assert write.fit.activation - read.fit.activation > 2.2e9


def test_llamacpp_reserves_the_whole_context_for_each_place() -> None:
    def llamacpp(_gpu: Gpu) -> EngineMemory:
        return EngineMemory(engine="llamacpp", max_batched_tokens=512)

    paged = _first(_asked(), [find_gpu("rtx3090")])
    reserved = _first(_asked(engine=llamacpp), [find_gpu("rtx3090")])

    assert reserved.streams < paged.streams / 4


@settings(max_examples=15, deadline=None)
@given(
    rate=st.floats(0.05, 20),
    prompt=st.integers(50, 3000),
    output=st.integers(1, 800),
    card=st.sampled_from(["rtx3090", "a100-pcie-40", "h100-sxm"]),
    promise=st.sampled_from([Promise(0.99), Promise(0.999, 2.0), Promise(0.999, 2.0, 15)]),
)
def test_more_of_anything_never_needs_fewer_cards(rate, prompt, output, card, promise) -> None:
    def found(demand: Demand, context: int = 8192) -> Offer | None:
        asked = Asked(SHAPES[SEVEN], find_precision("fp16"), (demand,), promise, context, _engine)
        ranked = offers(asked, [find_gpu(card)], counts=(1,)).ranked
        return ranked[0] if ranked else None

    less = found(Demand(rate, prompt, output))
    if less is None:
        return
    for more in (
        found(Demand(rate * 1.7, prompt, output)),
        found(Demand(rate, prompt + 200, output)),
        found(Demand(rate, prompt, output + 100)),
        found(Demand(rate, prompt, output), context=16_384),
    ):
        assert more is None or more.cards >= less.cards
    longer = found(Demand(rate, prompt, output), context=16_384)
    assert longer is None or longer.full.kv > less.full.kv
