"""The shapes of models hold together, and their weights have a known format."""

from msgspec.structs import asdict

from warmfleet.catalog.llm import llms
from warmfleet.catalog.names import find_model
from warmfleet.sizing.parts import parts_of
from warmfleet.sizing.precision import PRECISIONS

UNLIKE = {
    "jamba",  # recurrent layers
    "qwen3_next",  # recurrent layers
    "gemma3n",  # embeddings for each layer
    "nemotron-nas",  # a width for each layer
    "mllama",  # cross-attention layers
}


def test_parameters_are_those_of_the_shape() -> None:
    for model in llms():
        shape = model.architecture
        parts = parts_of(shape)
        counts = [count for name, count in asdict(parts).items() if name != "plain"]

        assert sum(counts) == shape.parameters, model.id
        assert shape.family in UNLIKE or parts.other <= 0.05 * shape.parameters, model.id


def test_the_published_precision_is_known() -> None:
    assert {model.precision for model in llms()} <= PRECISIONS.keys()


def test_a_name_means_one_shape() -> None:
    names = [name.lower() for model in llms() for name in (model.id, *model.names)]
    assert len(names) == len(set(names))


def test_a_model_is_found_by_each_of_its_names() -> None:
    for model in llms():
        for name in (model.id, *model.names, model.id.rpartition("/")[2]):
            assert find_model(name).architecture == model.architecture, name
