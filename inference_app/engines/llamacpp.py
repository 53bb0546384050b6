"""llama.cpp: the launcher. The child is ``llamacpp_child``."""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from inference_app.engines.base import Progress, progress_of_json
from inference_app.errors import EngineError
from inference_app.settings import ServiceSettings

__all__ = ["LlamacppLauncher"]

# Its log has no progress lines of its own; these two messages part loading from initialising.
_LOADING: Final = re.compile(r"load_model: loading model ")
_LOADED: Final = re.compile(r"threadpool init|load_model: initializing, n_slots")

# What it raises then says only that the server could not be made.
_REFUSED: Final = re.compile(r"llama_model_load: error loading model: (.+)")


class LlamacppLauncher:
    """Starts llama.cpp's own HTTP server, from the xllamacpp wheel, on a Unix socket."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings

    @property
    def probe_fields(self) -> Mapping[str, object]:
        """Make every probe compute its whole prompt and all its tokens."""
        return {"cache_prompt": False, "ignore_eos": True}

    @property
    def request_fields(self) -> Mapping[str, object]:
        """Have it tell its progress: only so it looks for its client after each batch."""
        return {"return_progress": True}

    @property
    def network(self) -> bool:
        """None: one process, one socket."""
        return False

    def command(self, socket: Path) -> list[str]:
        """Return the child's argv.

        Raises:
            EngineError: the weights are not there, or not readable: their disk may come later.
        """
        _must_open(self._settings.model.path)
        engine = self._settings.engine
        arguments = {
            "socket": str(socket),
            "path": str(self._settings.model.path),
            "size_bytes": self._settings.model.size_bytes,
            "sha256": self._settings.model.sha256,
            "alias": self._settings.model.name,
            "context_tokens": engine.context_tokens,
            "slots": engine.slots,
            "threads": engine.threads,
            "batch_tokens": engine.batch_tokens,
            # Each request holds one of its HTTP threads, and health must be answered beside them.
            "http_threads": self._settings.limits.max_in_flight + 4,
            "options": engine.options,
        }
        module = "inference_app.engines.llamacpp_child"
        return [sys.executable, "-m", module, json.dumps(arguments)]

    def progress(self, line: str) -> Progress | None:
        """Read the child's own progress lines and llama.cpp's log."""
        if (progress := progress_of_json(line)) is not None:
            return progress
        if _LOADING.search(line):
            return Progress("weights", detail={"bytes": self._settings.model.size_bytes})
        if _LOADED.search(line):
            return Progress("engine_init")
        if refused := _REFUSED.search(line):
            return Progress(failure=f"model.path {self._settings.model.path}: {refused[1]}")
        return None


def _must_open(path: Path) -> None:
    try:
        path.open("rb").close()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        msg = f"model.path {path}: {error.strerror}; needed: a GGUF file that can be read"
        raise EngineError(msg) from error
