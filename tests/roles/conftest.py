"""Loads the modules of roles, which are files beside YAML and not packages."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROLES = Path(__file__).resolve().parents[2] / "roles"


@pytest.fixture(scope="session")
def load_module() -> Callable[[str, str], ModuleType]:
    """Return a function that loads ``roles/ROLE/library/NAME.py``."""

    def load(role: str, name: str) -> ModuleType:
        path = ROLES / role / "library" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
