"""More asked never takes less memory; more cards never put more on each."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from warmfleet.catalog.gpu import gpus
from warmfleet.catalog.llm import llms
from warmfleet.sizing.engine_memory import EngineMemory
from warmfleet.sizing.fit import Fit, Layout, fit
from warmfleet.sizing.kv_cache import KV_BITS
from warmfleet.sizing.precision import PRECISIONS
from warmfleet.sizing.weights import weights_bytes

few = settings(max_examples=25, deadline=None)
models = st.sampled_from([model.architecture for model in llms()])
precisions = st.sampled_from(list(PRECISIONS.values()))
cards = st.sampled_from(gpus())
engines = st.builds(
    EngineMemory, engine=st.sampled_from(["vllm", "llamacpp"]), kv_dtype=st.sampled_from([*KV_BITS])
)
lengths = st.integers(1, 200_000)
counts = st.integers(1, 500)


def used(found: Fit) -> int:
    return found.weights + found.activation + found.non_torch + found.graphs + found.kv


@few
@given(models, precisions, cards, engines, lengths, counts, lengths, counts)
def test_more_context_or_concurrency_never_lowers_memory(
    model: Any,
    precision: Any,
    card: Any,
    engine: Any,
    context: int,
    concurrency: int,
    more_context: int,
    more_concurrency: int,
) -> None:
    def size(tokens: int, requests: int) -> Fit:
        layout = Layout(card)
        return fit(model, precision, layout, engine, context=tokens, concurrency=requests)

    found = size(context, concurrency)
    assert used(size(context + more_context, concurrency)) >= used(found)
    assert used(size(context, concurrency + more_concurrency)) >= used(found)


@few
@given(models, precisions, st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 4]))
def test_more_cards_never_raise_the_weights_on_one(
    model: Any, precision: Any, tensor: int, pipeline: int
) -> None:
    def weigh(tensor_parallel: int, pipeline_parallel: int) -> int:
        return weights_bytes(
            model, precision, tensor_parallel=tensor_parallel, pipeline_parallel=pipeline_parallel
        )

    assert weigh(2 * tensor, pipeline) <= weigh(tensor, pipeline)
    assert weigh(tensor, pipeline) * tensor * pipeline >= weigh(1, 1)


@few
@given(models, precisions, cards, engines, st.integers(1, 20_000), counts)
def test_what_is_called_largest_fits_and_one_more_does_not(
    model: Any, precision: Any, card: Any, engine: Any, context: int, concurrency: int
) -> None:
    def size(tokens: int, requests: int) -> Fit:
        layout = Layout(card)
        return fit(model, precision, layout, engine, context=tokens, concurrency=requests)

    found = size(context, concurrency)
    assert (found.verdict == "fits") == (found.missing == 0)
    if found.kv == 0 or engine.engine == "llamacpp":
        return  # no cache; or buffers that grow with the context beside it
    if found.largest_concurrency:
        assert size(context, found.largest_concurrency).verdict == "fits"
    assert size(context, found.largest_concurrency + 1).verdict != "fits"
    if found.largest_context:
        assert size(found.largest_context, concurrency).verdict == "fits"
    if found.largest_context < model.max_context:
        assert size(found.largest_context + 1, concurrency).verdict != "fits"
