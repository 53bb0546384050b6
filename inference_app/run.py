"""Runs one service from its settings file to its exit status."""

import asyncio
import logging
import socket
from pathlib import Path

from inference_app.errors import InferenceAppError, SettingsError
from inference_app.ledger import Ledger
from inference_app.logs import configure
from inference_app.process_clock import process_start_monotonic
from inference_app.service import Service
from inference_app.settings import ServiceSettings

__all__ = ["run_service"]

_logger = logging.getLogger(__name__)


def run_service(arguments: list[str], imports_began: float) -> int:
    """Serve until told to stop.

    Args:
        arguments: the settings file, nothing else.
        imports_began: on ``time.monotonic``.

    Returns:
        0 after a drain, 1 when the start failed or the engine died, 2 for wrong settings.
    """
    configure()
    if len(arguments) != 1:
        _logger.error("event=usage needed='python -m inference_app SETTINGS.json'")
        return 2
    try:
        settings = ServiceSettings.load(Path(arguments[0]))
        asyncio.run(_serve(settings, imports_began))
    except SettingsError as error:
        _logger.error("event=settings_wrong reason=%r", str(error))
        return 2
    except InferenceAppError as error:
        _logger.error("event=failed reason=%r", str(error))
        return 1
    return 0


async def _serve(settings: ServiceSettings, imports_began: float) -> None:
    started = process_start_monotonic()
    identity = {
        "model": settings.model.name,
        "revision": settings.revision,
        "host": socket.gethostname(),
    }
    try:
        ledger = Ledger(settings.state_dir / "ledger", identity, started)
    except OSError as error:
        msg = f"state_dir {settings.state_dir}: {error.strerror}; it must be writable"
        raise SettingsError(msg) from error
    ledger.begin("imports", at=imports_began)
    await Service(settings, ledger, started).run()
