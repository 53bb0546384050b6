"""What a running process was started with is read from the process itself."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

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


@pytest.mark.parametrize(
    ("active_state", "configured", "kind"),
    [
        ("active", True, ""),
        ("active", False, "stale"),
        ("activating", True, "starting"),
        ("activating", False, "stopped"),
        ("inactive", False, "stopped"),
        ("failed", False, "stopped"),
        ("deactivating", True, "stopped"),
    ],
)
def test_what_an_instance_needs(
    module: ModuleType, active_state: str, configured: bool, kind: str
) -> None:
    assert module.kind_of(active_state, configured) == kind


@pytest.fixture
def instances(module: ModuleType, tmp_path: Path) -> Any:
    """Return a host with instance ``old``: settings, a drop-in and a start at boot."""
    units, settings = tmp_path / "system", tmp_path / "inference"
    for path in (
        settings / "old.json",
        units / "wf@old.service.d" / "60-warmfleet.conf",
        units / "multi-user.target.wants" / "wf@old.service",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return module.Instances("wf", settings, units)


@pytest.mark.parametrize(
    "kept",
    [
        "inference/old.json",
        "system/wf@old.service.d/60-warmfleet.conf",
        "system/multi-user.target.wants/wf@old.service",
    ],
)
def test_any_trace_of_an_undeclared_instance_is_found(
    instances: Any, tmp_path: Path, kept: str
) -> None:
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        if path != tmp_path / kept:
            path.unlink()
    assert instances.undeclared({"new"}, []) == ["old"]
    assert instances.undeclared({"old"}, []) == []


def test_an_undeclared_instance_that_runs_is_found(instances: Any) -> None:
    found = instances.undeclared({"old"}, ["wf@old.service", "wf@other-1.service"])
    assert found == ["other-1"]


def test_a_template_wide_drop_in_is_no_instance(instances: Any) -> None:
    drop_in = instances.units / "wf@.service.d" / "60-warmfleet.conf"
    drop_in.parent.mkdir()
    drop_in.touch()
    assert instances.undeclared({"old"}, []) == []


def test_a_drop_in_of_somebody_else_stays(instances: Any) -> None:
    other = instances.units / "wf@old.service.d" / "99-site.conf"
    other.touch()
    instances.remove_files("old")
    assert other.exists()
    assert not other.with_name("60-warmfleet.conf").exists()
    other.unlink()
    instances.remove_files("old")
    assert not other.parent.exists()
