import pytest

from warmfleet.catalog.gpu import find_gpu, gpus
from warmfleet.errors import NameUnknownError


def test_a_program_never_has_more_than_the_card_shows() -> None:
    assert len(gpus()) == 45
    for row in gpus():
        assert row.cuda_total_gib <= row.nvml_total_gib <= row.memory_gb, row.id


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("rtx3090", "rtx3090"),
        ("RTX 3090", "rtx3090"),
        ("NVIDIA GeForce RTX 4090 D", "rtx4090d"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80"),
        ("A100 80GB PCIe", "a100-pcie-80"),
        ("H200", "h200-sxm"),
        ("H100", "h100-sxm"),
        ("NVIDIA RTX 4090 24GB", "rtx4090"),
        ("AMD Instinct MI300X", "mi300x"),
        ("t4", "t4"),
    ],
)
def test_a_card_is_found_however_its_name_is_written(name: str, found: str) -> None:
    assert find_gpu(name).id == found


def test_half_precision_accumulation_is_faster_on_geforce_alone() -> None:
    faster = {
        row.id
        for row in gpus()
        if row.fp16_tflops and (row.fp16_half_accumulate_tflops or 0) > row.fp16_tflops
    }
    assert faster == {"rtx3090", "rtx4090", "rtx4090d", "rtx5090", "l40"}


def test_memory_is_never_taken_from_the_name() -> None:
    with pytest.raises(NameUnknownError):
        find_gpu("RTX 4090 48GB")  # there is such a modified card


def test_an_unknown_card_names_the_nearest_one() -> None:
    with pytest.raises(NameUnknownError, match=r"did you mean .*4090"):
        find_gpu("GeForce 4091")
