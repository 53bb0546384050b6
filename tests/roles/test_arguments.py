"""A role's contract is written once: defaults, types and README follow its specification."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path.parents[1] for path in (ROOT / "roles").glob("*/meta/argument_specs.yml"))

PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "path": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
}


def _specification(role: Path) -> dict[str, Any]:
    loaded = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())
    return loaded["argument_specs"]["main"]["options"]


def _defaults(role: Path) -> dict[str, Any]:
    return yaml.safe_load((role / "defaults" / "main.yml").read_text()) or {}


by_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


def test_every_role_has_a_specification() -> None:
    with_tasks = {path.parents[1].name for path in (ROOT / "roles").glob("*/tasks/main.yml")}
    assert with_tasks
    assert with_tasks == {role.name for role in ROLES}


@by_role
def test_defaults_are_those_of_the_specification(role: Path) -> None:
    specified = {
        name: option["default"]
        for name, option in _specification(role).items()
        if "default" in option
    }
    assert _defaults(role) == specified


@by_role
def test_an_input_is_required_or_has_a_default(role: Path) -> None:
    for name, option in _specification(role).items():
        assert bool(option.get("required")) != ("default" in option), name


@by_role
def test_every_input_bears_the_name_of_the_role(role: Path) -> None:
    for name in _specification(role):
        assert name.startswith(f"{role.name}_"), name


@by_role
def test_every_input_is_described(role: Path) -> None:
    for name, option in _all_options(_specification(role)):
        assert option.get("description"), name
        assert option.get("type") in PYTHON_TYPES, name


@by_role
def test_defaults_have_the_specified_type(role: Path) -> None:
    for name, option in _all_options(_specification(role)):
        if "default" not in option:
            continue
        value = option["default"]
        if option["type"] not in ("bool",):
            assert not isinstance(value, bool), name
        assert isinstance(value, PYTHON_TYPES[option["type"]]), name
        if option["type"] == "list":
            for element in value:
                assert isinstance(element, PYTHON_TYPES[option["elements"]]), name
        if "choices" in option:
            assert value in option["choices"], name


@by_role
def test_internal_variables_are_marked_as_internal(role: Path) -> None:
    path = role / "vars" / "main.yml"
    internal = yaml.safe_load(path.read_text()) if path.is_file() else None
    for name in internal or {}:
        assert name.startswith(f"__{role.name}_"), name


def test_readmes_show_the_variables_of_the_specification() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "role_readme.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def _all_options(options: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for name, option in options.items():
        found.append((name, option))
        found += [
            (f"{name}.{inner}", nested)
            for inner, nested in _all_options(option.get("options") or {})
        ]
    return found
