"""The shapes of models hold together, and their weights have a known format."""

import pytest

from warmfleet.catalog.llm import llms
from warmfleet.catalog.models import Model
from warmfleet.sizing.parts import parts_of
from warmfleet.sizing.precision import PRECISIONS

UNLIKE = {
    "jamba",  # recurrent layers
    "qwen3_next",  # recurrent layers
    "gemma3n",  # embeddings for each layer
    "nemotron-nas",  # a width for each layer
    "mllama",  # cross-attention layers
}
ROWS = [pytest.param(model, id=model.id) for model in llms()]


@pytest.mark.parametrize("model", ROWS)
def test_parameters_are_those_of_the_shape(model: Model) -> None:
    shape = model.architecture
    parts = parts_of(shape)

    counts = [count for name, count in vars(parts).items() if name != "plain"]
    assert sum(counts) == shape.parameters
    assert shape.family in UNLIKE or parts.other <= 0.05 * shape.parameters


@pytest.mark.parametrize("model", ROWS)
def test_the_published_precision_is_known(model: Model) -> None:
    assert model.precision in PRECISIONS


def test_a_name_means_one_shape() -> None:
    names = [name.lower() for model in llms() for name in (model.id, *model.names)]
    assert len(names) == len(set(names))
