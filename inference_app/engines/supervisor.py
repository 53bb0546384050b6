"""The engine as a supervised child: started in its own process group, watched, ended whole."""

import asyncio
import contextlib
import logging
import os
import signal
import tempfile
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

from inference_app.engine_client import EngineClient
from inference_app.engines.base import OPTIONS_REFUSED, Launcher, Progress
from inference_app.engines.confined import confined
from inference_app.errors import EngineError, SettingsError

__all__ = ["EngineProcess"]

_logger = logging.getLogger(__name__)
_POLL_S: Final = 0.05
_TERM_S: Final = 3.0
_LAST_LINES_S: Final = 0.2
_READ_BYTES: Final = 64 * 1024
_LINE_BYTES: Final = 8 * 1024  # the rest of a longer line is dropped
_LINES_KEPT: Final = 40
_T = TypeVar("_T")


class EngineProcess:
    """One engine child.

    Args:
        launcher: the kind of engine.
        on_progress: called with what the child's output tells, as it tells it.
    """

    def __init__(self, launcher: Launcher, on_progress: Callable[[Progress], None]) -> None:
        self._launcher = launcher
        self._on_progress = on_progress
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._listening = asyncio.Event()
        self._lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._failures: list[str] = []  # of two pipes, so in any order

    async def start(self) -> EngineClient:
        """Start the child and return a client once the engine itself says it is ready.

        Raises:
            EngineError: the child cannot be started or ended before it was ready.
            SettingsError: it ended because it does not take its options.
        """
        try:
            # For this user alone (0700). The unit gives a folder in /run that goes with it.
            self._folder = tempfile.TemporaryDirectory(
                prefix="engine-", dir=os.environ.get("RUNTIME_DIRECTORY")
            )
            socket = Path(self._folder.name, "engine.sock")
            command = self._launcher.command(socket)
            self._process = await asyncio.create_subprocess_exec(
                *confined(command, network=self._launcher.network),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            msg = f"cannot start the engine: {error.strerror}"
            raise EngineError(msg) from error
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                self._readers.append(asyncio.create_task(self._read(stream)))
        await self._or_exit(self._listening.wait())
        client = EngineClient(socket)
        try:
            await self._or_exit(_until_healthy(client))
        except BaseException:
            await client.__aexit__(None, None, None)
            raise
        _logger.info("event=engine_ready socket=%s pid=%s", socket, self._process.pid)
        return client

    async def exited(self) -> str:
        """Wait for the child's end; return one line on how it ended."""
        if self._process is None:
            msg = "the engine was not started"
            raise RuntimeError(msg)
        status = await self._process.wait()
        # What it said last is still in the pipes; a grandchild may hold them open for ever.
        await asyncio.wait(self._readers, timeout=_LAST_LINES_S)
        how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
        last = "; ".join(self._failures) or (self._lines[-1] if self._lines else "it said nothing")
        return f"the engine ended ({how}); its last line: {last}"

    @property
    def killed(self) -> bool:
        """Whether the child was killed from outside: by an operator, or for want of memory."""
        status = None if self._process is None else self._process.returncode
        return status in {-signal.SIGKILL, -signal.SIGTERM}

    async def stop(self) -> None:
        """End the whole process group: TERM, a bounded wait, KILL. Its socket goes too."""
        if self._process is not None:
            await self._end(self._process)
        if self._folder is not None:
            self._folder.cleanup()

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        self._signal(signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _TERM_S)
        self._signal(signal.SIGKILL)  # also what the leader left behind in its group
        await process.wait()
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)

    async def _or_exit(self, wanted: Awaitable[_T]) -> _T:
        work = asyncio.ensure_future(wanted)
        ended = asyncio.ensure_future(self.exited())
        try:
            await asyncio.wait({work, ended}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            refused = self._process is not None and self._process.returncode == OPTIONS_REFUSED
            raise (SettingsError if refused else EngineError)(ended.result())
        finally:
            for task in (work, ended):
                task.cancel()
            await asyncio.gather(work, ended, return_exceptions=True)

    async def _read(self, stream: asyncio.StreamReader) -> None:
        # Not readline(): it fails on a line longer than its buffer, and an engine may print one.
        rest = b""
        while chunk := await stream.read(_READ_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[:_LINE_BYTES]
            for line in lines:
                self._take(line[:_LINE_BYTES].decode(errors="replace").rstrip())
        if rest:
            self._take(rest.decode(errors="replace"))

    def _take(self, line: str) -> None:
        progress = self._launcher.progress(line)
        if progress is None:
            if line:
                self._lines.append(line)
                _logger.debug("event=engine_output line=%r", line)
            return
        if progress.failure is not None:
            self._failures.append(progress.failure)
        if progress.phase is not None:
            self._on_progress(progress)
        if progress.listening:
            self._listening.set()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


async def _until_healthy(client: EngineClient) -> None:
    while not await client.healthy():  # noqa: ASYNC110 - another process has no Event to await
        await asyncio.sleep(_POLL_S)
