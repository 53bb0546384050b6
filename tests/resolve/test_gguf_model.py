"""Heads of GGUF files, as data: what is read from each."""

from pathlib import Path

import pytest
import yaml

from inference_app.gguf import GgufHead, GgufTensor
from tests.resolve.weights_content import gguf_model as tiny
from warmfleet.resolve import gguf_model, quantization, tensor_counts
from warmfleet.resolve.folder_store import FolderStore
from warmfleet.resolve.gguf_files import read_gguf_files
from warmfleet.resolve.gguf_model import parse_gguf
from warmfleet.sizing.precision import PRECISIONS

QUANTIZED = yaml.safe_load((Path(__file__).parent / "cases" / "quantizations.yaml").read_text())
CASES = yaml.safe_load((Path(__file__).parent / "cases" / "ggufs.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_head(case: dict) -> None:
    family = case["values"].get("general.architecture")
    values = {
        name if name.startswith("general.") else f"{family}.{name}": value
        for name, value in case["values"].items()
    }
    tensors = case.get("tensors", {"token_embd.weight": 64})
    head = GgufHead(
        values,
        {},
        tuple(GgufTensor(name, count, case.get("kind", 8), 1) for name, count in tensors.items()),
    )
    if "error" in case:
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
            parse_gguf([head])
        assert str(caught.value) == case["error"]
        return

    found = parse_gguf([head])

    said = {**found.architecture.model_dump(), "precision": found.precision}
    assert {name: said[name] for name in case["expect"]} == case["expect"]


def test_every_number_format_is_one_that_can_be_sized() -> None:
    returned = {
        *gguf_model._FILE_TYPES.values(),
        *gguf_model._TENSOR_TYPES.values(),
        *quantization._DTYPES.values(),
        *quantization._METHODS.values(),
        *quantization._ALGORITHMS.values(),
        *tensor_counts._IDS.values(),
        *(case["precision"] for case in QUANTIZED if case["precision"]),
    }

    assert returned - set(PRECISIONS) == set()


def test_parts_of_a_model_are_read_together(tmp_path: Path) -> None:
    for part in (1, 2):
        (tmp_path / f"tiny-0000{part}-of-00002.gguf").write_bytes(tiny())

    found = read_gguf_files(FolderStore(tmp_path), "tiny-00001-of-00002.gguf")

    assert [file.path for file in found.files] == [
        "tiny-00001-of-00002.gguf",
        "tiny-00002-of-00002.gguf",
    ]
    assert found.architecture.parameters == 2 * 64


def test_a_later_part_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"tiny-00002-of-00002\.gguf: found a later part; needed"):
        read_gguf_files(FolderStore(tmp_path), "tiny-00002-of-00002.gguf")
