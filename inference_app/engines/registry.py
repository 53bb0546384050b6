"""Which launcher belongs to which kind of engine."""

from collections.abc import Callable

from inference_app.engines.base import Launcher
from inference_app.engines.fake import FakeLauncher
from inference_app.engines.llamacpp import LlamacppLauncher
from inference_app.settings import EngineKind, ServiceSettings

__all__ = ["launcher_for"]

_LAUNCHERS: dict[EngineKind, Callable[[ServiceSettings], Launcher]] = {
    EngineKind.LLAMACPP: LlamacppLauncher,
    EngineKind.FAKE: FakeLauncher,
}


def launcher_for(settings: ServiceSettings) -> Launcher:
    """Return the launcher of the engine that the settings name."""
    return _LAUNCHERS[settings.engine.kind](settings)
