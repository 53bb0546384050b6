"""The generator of ``docs/spec.md``, loaded from tools/, which is no package."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "spec_reference.py"


@pytest.fixture
def spec_reference() -> ModuleType:
    """The module, imported afresh."""
    spec = importlib.util.spec_from_file_location(TOOL.stem, TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
