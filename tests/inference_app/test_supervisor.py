"""The engine child: watched, and ended with everything it started."""

import asyncio
import contextlib
import json
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from inference_app.engines.base import Progress
from inference_app.engines.supervisor import EngineProcess
from inference_app.errors import EngineError, SettingsError
from tests.inference_app.support import eventually


class _ScriptLauncher:
    """Runs a Python script as the engine; a line ``phase NAME`` is progress."""

    def __init__(self, script: str, *arguments: str) -> None:
        self._command = [sys.executable, "-c", script, *arguments]

    @property
    def probe_fields(self) -> Mapping[str, object]:
        return {}

    @property
    def network(self) -> bool:
        return False

    def command(self, socket: Path) -> list[str]:
        self.socket = socket
        return self._command

    def progress(self, line: str) -> Progress | None:
        word, _, phase = line.partition(" ")
        return Progress(phase) if word == "phase" else None


async def _run_until(engine: EngineProcess, seen: list[Progress], count: int) -> None:
    starting = asyncio.create_task(engine.start())
    try:
        await eventually(lambda: len(seen) >= count or starting.done(), f"{count} reports")
    finally:
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starting


async def test_the_whole_group_is_ended_even_where_it_ignores_term(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference_app.engines.supervisor._TERM_S", 0.1)
    script = """
import json, os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "w").write(json.dumps([os.getpid(), worker.pid]))
print("phase weights", flush=True)
time.sleep(600)
"""
    seen: list[Progress] = []
    engine = EngineProcess(_ScriptLauncher(script, str(tmp_path / "pids")), seen.append)
    await _run_until(engine, seen, 1)
    pids = json.loads((tmp_path / "pids").read_text())
    await engine.stop()
    for pid in pids:
        await eventually(lambda pid=pid: _gone(pid), f"the end of {pid}")


async def test_a_line_without_end_neither_stops_nor_fills_the_reader() -> None:
    script = """
import sys
for stream in (sys.stdout, sys.stderr):
    stream.write("x" * 3_000_000)
    stream.write("\\nphase weights\\n")
    stream.flush()
sys.exit("the reason")
"""
    seen: list[Progress] = []
    engine = EngineProcess(_ScriptLauncher(script), seen.append)
    with pytest.raises(EngineError, match=r"exit status 1\); its last line: the reason"):
        await asyncio.wait_for(engine.start(), 20)
    assert seen == [Progress("weights"), Progress("weights")]
    assert max(map(len, engine._lines)) == 8192
    await engine.stop()


async def test_an_engine_that_refuses_its_options_says_that_the_settings_are_wrong() -> None:
    script = "import sys; print('engine.options: no such', file=sys.stderr); sys.exit(2)"
    engine = EngineProcess(_ScriptLauncher(script), lambda _: None)
    with pytest.raises(SettingsError, match=r"exit status 2\); its last line: engine.options: no"):
        await asyncio.wait_for(engine.start(), 20)
    await engine.stop()


async def test_the_socket_is_in_a_folder_of_this_user_alone_and_goes_with_the_engine() -> None:
    launcher = _ScriptLauncher("print('phase weights', flush=True); import time; time.sleep(600)")
    seen: list[Progress] = []
    engine = EngineProcess(launcher, seen.append)
    await _run_until(engine, seen, 1)
    folder = launcher.socket.parent.stat()
    assert (folder.st_uid, stat.S_IMODE(folder.st_mode)) == (os.geteuid(), 0o700)
    await engine.stop()
    assert not launcher.socket.parent.exists()


async def test_a_killed_engine_is_told_by_its_signal() -> None:
    script = "import os, signal; os.kill(os.getpid(), signal.SIGABRT)"
    engine = EngineProcess(_ScriptLauncher(script), lambda _: None)
    with pytest.raises(EngineError, match=r"killed by signal 6.*it said nothing"):
        await asyncio.wait_for(engine.start(), 20)
    await engine.stop()


async def test_a_program_that_is_not_there_is_told() -> None:
    launcher = _ScriptLauncher("")
    launcher._command = ["/nowhere/engine"]
    engine = EngineProcess(launcher, lambda _: None)
    with pytest.raises(EngineError, match=r"cannot start /nowhere/engine: No such file"):
        await asyncio.wait_for(engine.start(), 20)
    await engine.stop()


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
