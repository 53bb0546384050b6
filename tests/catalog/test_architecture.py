"""A shape that contradicts itself is refused."""

import pytest
from pydantic import ValidationError

from warmfleet.catalog.architecture import Architecture, Experts

LLAMA_8B = Architecture(
    family="llama",
    parameters=8_030_261_248,
    active_parameters=8_030_261_248,
    layers=32,
    hidden=4096,
    heads=32,
    kv_heads=8,
    head_dim=128,
    intermediate=14336,
    vocabulary=128256,
    tied_embeddings=False,
    max_context=131072,
    full_attention_layers=32,
)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kv_heads": 5}, "share the heads"),
        ({"active_parameters": 9 * 10**9}, "parameters active"),
        ({"windowed_layers": 1, "sliding_window": 4096}, "layers with a cache"),
        ({"full_attention_layers": 30, "windowed_layers": 2}, "need its length"),
        (
            {"experts": Experts(count=8, per_token=2, intermediate=14336, layers=33)},
            "layers with experts",
        ),
    ],
)
def test_a_contradiction_is_named(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Architecture.model_validate(LLAMA_8B.model_dump() | changed)
