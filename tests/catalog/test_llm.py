"""The shapes of models hold together, and their weights have a known format."""

import pytest

from warmfleet.catalog.llm import llms
from warmfleet.catalog.models import Model
from warmfleet.sizing.parts import parts_of
from warmfleet.sizing.precision import PRECISIONS

RECURRENT = {"jamba"}
UNLIKE = {"gemma3n"}  # embeddings for each layer
ROWS = [pytest.param(model, id=model.id) for model in llms()]


@pytest.mark.parametrize("model", ROWS)
def test_parameters_are_those_of_the_shape(model: Model) -> None:
    shape = model.architecture
    parts = parts_of(shape)
    known = vars(parts).values()

    # Names of the parts add up, and what no shape explains is a feed-forward block of its width.
    assert sum(known) == shape.parameters
    dense = shape.layers - (shape.experts.layers if shape.experts else 0)
    shared = shape.experts.layers * shape.experts.shared_intermediate if shape.experts else 0
    widths = dense * shape.intermediate + shared
    rest = parts.feed_forward - 2 * shape.layers * shape.hidden
    assert rest >= 0
    allowed = 0.15 if shape.family in RECURRENT else 0.05
    assert shape.family in UNLIKE or rest <= 3 * widths * shape.hidden + allowed * shape.parameters


@pytest.mark.parametrize("model", ROWS)
def test_the_published_precision_is_known(model: Model) -> None:
    assert model.precision in PRECISIONS


def test_a_name_means_one_shape() -> None:
    names = [name.lower() for model in llms() for name in (model.id, *model.names)]
    assert len(names) == len(set(names))
