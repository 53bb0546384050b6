"""The fake engine: a controllable stand-in for tests and measurements, never for users.

Its child, ``fake_child``, speaks what llama.cpp's server speaks as far as the service uses it, with
deterministic tokens, a compile delay for each new shape, a speed, and faults on request.
"""

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from inference_app.engines.base import Progress, progress_of_json
from inference_app.engines.fake_child import FakeOptions
from inference_app.errors import SettingsError
from inference_app.settings import ServiceSettings

__all__ = ["FakeLauncher"]


class FakeLauncher:
    """Starts the fake engine.

    Raises:
        SettingsError: an option that ``FakeOptions`` does not have.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        known = {field.name for field in dataclasses.fields(FakeOptions)}
        if unknown := sorted(settings.engine.options.keys() - known):
            msg = f"engine.options: the fake engine has no {', '.join(unknown)}; it has {known}"
            raise SettingsError(msg)
        self._settings = settings

    @property
    def probe_fields(self) -> Mapping[str, object]:
        """The same fields as llama.cpp's, which the fake does not need."""
        return {"cache_prompt": False, "ignore_eos": True}

    @property
    def request_fields(self) -> Mapping[str, object]:
        """Nothing: it always stops at once."""
        return {}

    @property
    def network(self) -> bool:
        """None: one process, one socket."""
        return False

    def command(self, socket: Path) -> list[str]:
        """Return the child's argv."""
        engine = self._settings.engine
        arguments = {
            "socket": str(socket),
            "model": self._settings.model.name,
            "size_bytes": self._settings.model.size_bytes,
            "context_tokens": engine.context_tokens,
            "slots": engine.slots,
            "options": engine.options,
        }
        return [sys.executable, "-m", "inference_app.engines.fake_child", json.dumps(arguments)]

    def progress(self, line: str) -> Progress | None:
        """Read the child's progress lines."""
        return progress_of_json(line)
