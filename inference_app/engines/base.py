"""What the service knows of any engine: how to start it, and what its output tells."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

__all__ = ["OPTIONS_REFUSED", "Launcher", "Progress", "progress_of_json"]

OPTIONS_REFUSED: Final = 2  # exit status of a child that no other start will help


@dataclass(frozen=True)
class Progress:
    """What one line of an engine's output says.

    Attributes:
        phase: the ledger phase that begins here.
        listening: the engine takes requests on its socket.
        failure: why it is about to end; threads of an engine may still print after that.
        detail: figures of that phase.
    """

    phase: str | None = None
    listening: bool = False
    failure: str | None = None
    detail: Mapping[str, object] = field(default_factory=dict)


class Launcher(Protocol):
    """One kind of engine. A new engine is one such class."""

    @property
    def probe_fields(self) -> Mapping[str, object]:
        """Request fields that make a warm-up probe do its whole work, for example no cache."""

    @property
    def request_fields(self) -> Mapping[str, object]:
        """What every generation is sent with, so that it can be stopped soon."""

    @property
    def network(self) -> bool:
        """Whether its processes need TCP among themselves; else they get Unix sockets alone."""

    def command(self, socket: Path) -> list[str]:
        """Return the child's argv; never a secret in it.

        Args:
            socket: where the engine listens, in a folder that only this user can enter.

        Raises:
            EngineError: what the child needs is not there.
        """

    def progress(self, line: str) -> Progress | None:
        """Read one line of stdout or stderr."""


def progress_of_json(line: str) -> Progress | None:
    """Read a progress line of a child that this package ships, None for any other line."""
    if not line.startswith('{"progress":'):
        return None
    try:
        fields = json.loads(line)["progress"]
        return Progress(
            phase=fields.get("phase"),
            listening=fields.get("listening") is True,
            failure=fields.get("failure"),
            detail=fields.get("detail") or {},
        )
    except (ValueError, AttributeError):
        return None
