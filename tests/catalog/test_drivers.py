"""The matrix of driver, CUDA, engine and card: it has a row for what is rented, and agrees."""

import pytest

from warmfleet.catalog.drivers import architecture_of, branches, driver_for, engine_builds
from warmfleet.catalog.gpu import gpus

NVIDIA = [gpu for gpu in gpus() if gpu.vendor == "NVIDIA"]
BUILDS = [build for engine in ("vllm", "llamacpp") for build in engine_builds(engine)]


@pytest.mark.parametrize("gpu", NVIDIA, ids=lambda gpu: gpu.id)
def test_every_card_of_the_maker_is_of_one_generation(gpu) -> None:
    assert architecture_of(gpu.compute_capability) is not None


def test_a_card_that_does_not_count_in_capabilities_has_none() -> None:
    assert architecture_of("gfx942") is None
    assert architecture_of(None) is None


@pytest.mark.parametrize("build", BUILDS, ids=str)
def test_a_branch_that_is_kept_up_runs_each_build(build) -> None:
    assert any(branch.number >= driver_for(build.major).driver for branch in branches())


def test_branches_that_have_ended_are_not_offered() -> None:
    assert [str(branch) for branch in branches()] == ["R580", "R620", "R595"]


def test_open_kernel_modules_begin_with_turing() -> None:
    flavours = {
        float(row): architecture_of(row).modules
        for row in ("6.1", "7.0", "7.5", "8.6", "9.0", "12.0")
    }

    assert flavours == {
        6.1: "proprietary", 7.0: "proprietary", 7.5: "open", 8.6: "open", 9.0: "open",
        12.0: "open only",
    }  # fmt: skip
