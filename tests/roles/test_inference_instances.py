"""What a running process was started with is read from the process itself."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def module(load_module: Callable[[str, str], ModuleType]) -> ModuleType:
    return load_module("inference_service", "inference_instances")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (b"PATH=/bin\0WARMFLEET_CONFIGURATION=abc\0LANG=C\0", "abc"),
        (b"PATH=/bin\0", ""),
        (b"OTHER_WARMFLEET_CONFIGURATION=abc\0", ""),
        (b"", ""),
    ],
)
def test_the_configuration_is_a_variable_of_the_process(
    module: ModuleType, tmp_path: Path, environ: bytes, expected: str
) -> None:
    (tmp_path / "environ").write_bytes(environ)
    assert module.configuration_of(tmp_path / "environ") == expected


def test_a_process_that_is_gone_has_none(module: ModuleType, tmp_path: Path) -> None:
    assert module.configuration_of(tmp_path / "no" / "environ") == ""
