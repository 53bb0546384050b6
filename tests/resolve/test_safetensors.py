"""Headers of safetensors files, right and wrong, and what is counted in them."""

import json
from typing import Any

import pytest

from warmfleet.resolve.hf_config import TensorCounts
from warmfleet.resolve.safetensors import Tensor, header_bytes, parse_header, parse_index
from warmfleet.resolve.tensor_counts import Counted, count_tensors

RIGHT: dict[str, Any] = {
    "__metadata__": {"format": "pt"},
    "a": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]},
    "b": {"dtype": "F32", "shape": [], "data_offsets": [12, 16]},
    "empty": {"dtype": "I32", "shape": [0, 4], "data_offsets": [16, 16]},
}


def _parse(header: object, data: int = 16) -> list[Tensor]:
    raw = json.dumps(header).encode()
    return parse_header(raw, 8 + len(raw) + data)


def test_a_right_header() -> None:
    assert _parse(RIGHT) == [
        Tensor("a", "BF16", (2, 3), 12),
        Tensor("b", "F32", (), 4),
        Tensor("empty", "I32", (0, 4), 0),
    ]
    assert [tensor.elements for tensor in _parse(RIGHT)] == [6, 1, 0]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ([], "found an empty list as header; needed tensors by name"),
        ({}, "found no tensor; needed weights"),
        ({"__metadata__": {}}, "found no tensor; needed weights"),
        ({"a": 5}, "a: found 5; needed dtype, shape and data_offsets"),
        (
            {"a": RIGHT["a"] | {"shape": [2, "3"]}},
            "a.shape: found '3'; needed whole numbers",
        ),
        ({"a": RIGHT["a"] | {"shape": [2, -3]}}, "a.shape: found -3; needed whole numbers"),
        ({"a": RIGHT["a"] | {"shape": [True]}}, "a.shape: found true; needed whole numbers"),
        (
            {"a": RIGHT["a"] | {"shape": None}},
            "a.shape: found null; needed a list of a few whole numbers",
        ),
        (
            {"a": RIGHT["a"] | {"data_offsets": [12, 0]}},
            "a.data_offsets: found [12, 0]; needed a start and an end",
        ),
        (
            {"a": RIGHT["a"] | {"data_offsets": [0]}},
            "a.data_offsets: found [0]; needed a start and an end",
        ),
        ({"a": RIGHT["a"] | {"shape": [2, 4]}}, "a: found 12 bytes; needed 16 for BF16 [2, 4]"),
        (
            {"a": RIGHT["a"] | {"shape": [2**62, 2**62]}},
            f"a: found 12 bytes; needed {2**125} for BF16 [{2**62}, {2**62}]",
        ),
        (
            {"a": RIGHT["a"], "b": RIGHT["b"] | {"data_offsets": [8, 12]}},
            "b: found its data at byte 8; needed 12, where those before it end",
        ),
        (
            {"a": RIGHT["a"], "b": RIGHT["b"] | {"data_offsets": [20, 24]}},
            "b: found its data at byte 20; needed 12, where those before it end",
        ),
        ({"a": RIGHT["a"]}, "found 16 bytes of data; needed 12, as the header says"),
    ],
)
def test_a_wrong_header_is_told_in_full(header: object, said: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        _parse(header)
    assert str(caught.value) == said


def test_a_type_that_nobody_knows_is_told() -> None:
    with pytest.raises(ValueError, match=r"^a\.dtype: found 'F5'; needed BOOL, .*BF16"):
        _parse({"a": RIGHT["a"] | {"dtype": "F5"}})


@pytest.mark.parametrize("raw", [b"", b"\xff\xff", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 9999])
def test_a_header_that_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"not JSON|not UTF-8|twice|nested"):
        parse_header(raw, 100)


@pytest.mark.parametrize(
    ("head", "size", "said"),
    [
        (b"", 0, "found a file of 0 bytes; needed a safetensors file"),
        (b"\x10\0\0", 3, "found a file of 3 bytes; needed a safetensors file"),
        (bytes(8), 100, "found a header of 0 bytes; needed 2 to 92 (a safetensors file)"),
        (
            (93).to_bytes(8, "little"),
            100,
            "found a header of 93 bytes; needed 2 to 92 (a safetensors file)",
        ),
        (
            b"\xff" * 8,
            10**12,
            f"found a header of {2**64 - 1} bytes; needed 2 to 100000000 (a safetensors file)",
        ),
        (
            b"<!DOCTYP",
            10**12,
            f"found a header of {int.from_bytes(b'<!DOCTYP', 'little')} bytes; needed 2 to "
            "100000000 (a safetensors file)",
        ),
    ],
)
def test_an_absurd_length_is_refused_before_it_is_read(head: bytes, size: int, said: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        header_bytes(head, size)
    assert str(caught.value) == said


def test_an_index() -> None:
    raw = json.dumps(
        {"metadata": {}, "weight_map": {"a": "m-1.safetensors", "b": "m-1.safetensors"}}
    )
    assert parse_index(raw.encode()) == {"m-1.safetensors": {"a", "b"}}


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ([], "weight_map: found null; needed the file of each tensor"),
        ({"weight_map": {}}, "weight_map: found a mapping; needed the file of each tensor"),
        (
            {"weight_map": {"a": "../../etc/passwd"}},
            "weight_map.a: found '../../etc/passwd'; needed a file beside the index",
        ),
        (
            {"weight_map": {"a": "http://x/m.safetensors"}},
            "weight_map.a: found 'http://x/m.safetensors'; needed a file beside the index",
        ),
        ({"weight_map": {"a": 5}}, "weight_map.a: found 5; needed a file beside the index"),
    ],
)
def test_a_wrong_index_is_told(index: object, said: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        parse_index(json.dumps(index).encode())
    assert str(caught.value) == said


def _tensor(name: str, elements: int, dtype: str = "BF16", size: int | None = None) -> Tensor:
    return Tensor(name, dtype, (elements,), 2 * elements if size is None else size)


def test_what_an_engine_loads_is_counted() -> None:
    tensors = [
        _tensor("model.embed_tokens.weight", 1000),
        _tensor("model.layers.0.mlp.experts.3.up_proj.weight", 300, "F8_E4M3", 300),
        _tensor("model.layers.0.mlp.experts.3.up_proj.weight_scale_inv", 3, "F32", 12),
        _tensor("model.layers.0.mlp.shared_experts.up_proj.weight", 50),
        _tensor("model.layers.0.self_attn.rotary_emb.inv_freq", 32),
        _tensor("model.layers.2.mlp.experts.0.up_proj.weight", 7000),  # guesses ahead
        _tensor("mtp.layers.0.weight", 7000),
        _tensor("visual.blocks.5.attn.qkv.weight", 20),
        _tensor("lm_head.weight", 1000),
    ]

    untied = count_tensors(tensors, layers=2, tied=False)
    tied = count_tensors(tensors, layers=2, tied=True)

    assert untied == Counted(TensorCounts(2350, 300, 20), 4516, "bf16", 1)
    assert tied == Counted(TensorCounts(1350, 300, 20), 2516, "bf16", 1)


def test_packed_weights_are_bytes_and_no_parameters() -> None:
    tensors = [
        _tensor("model.embed_tokens.weight", 10),
        _tensor("model.layers.0.mlp.up_proj.qweight", 100, "I32", 400),
        _tensor("model.layers.0.mlp.up_proj.scales", 10),
    ]

    assert count_tensors(tensors, layers=1, tied=True) == Counted(None, 440, None, 1)
