"""Run the stages of ``make up``, ``make check`` and ``make test``: timed, logged, counted.

    python tools/stages.py up|down|check|test [STAGE ...]

Every stage's output is shown and kept in ``.cache/logs``. A stage that fails does not keep later
ones from running, except a failed set-up. The exit status is 1 when any stage failed.
"""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / ".cache" / "logs"
AS_ROOT = str(ROOT / "tools" / "as_root.sh")
ENVIRONMENT = os.environ.get("WARMFLEET_ENVIRONMENT", "lab")

# What pytest prints last, with or without its rules: "12 passed, 1 skipped in 3.45s".
_SUMMARY = re.compile(r"^(?:\W*)((?:\d+ [a-z]+(?:, )?)+) in \d+\.\d+s(?: \([\d:]+\))?(?:\W*)$")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

_lock = threading.Lock()
_running: dict[subprocess.Popen[str], "Stage"] = {}
_interrupted = threading.Event()


@dataclass(frozen=True)
class Stage:
    """One command; ``limit_s`` bounds it, ``root`` says that it handles containers."""

    name: str
    command: str
    limit_s: float
    root: bool = False

    @property
    def arguments(self) -> list[str]:
        """The command as words, run as root where it must be."""
        words = shlex.split(self.command)
        return [AS_ROOT, *words] if self.root else words


@dataclass
class Outcome:
    """How a stage ended; ``counts`` are the tests in it, by outcome."""

    stage: Stage
    status: int
    seconds: float
    log: Path
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Tell whether it succeeded."""
        return self.status == 0


PREPARE = [
    Stage("tools", "python tools/pulumi_cli.py", 1800),
    Stage("image", "python -m warmfleet.provider.image", 960),
    Stage("wheelhouse", f"python -m warmfleet.converge.wheelhouse {ENVIRONMENT}", 900),
]
CHECK = [
    # Longest first: they run two at a time. Unit tests wait more than they compute, so two
    # processes share them; a file's tests stay together, for its fixtures.
    Stage("unit", "pytest -q -n 2 --dist loadfile", 480),
    Stage("ansible", "tools/lint_ansible.sh", 240),
    Stage("types", "mypy", 240),
    Stage("yaml", "yamllint --strict -c .config/yamllint.yml .", 60),
    Stage("format", "ruff format --check .", 60),
    Stage("lint", "ruff check .", 60),
    Stage("spelling", "codespell", 60),
    Stage("role docs", "python tools/role_readme.py --check", 60),
    Stage("spec docs", "python tools/spec_reference.py --check", 60),
    Stage("performance", "python tools/performance.py --check", 60),
    Stage("plan lock", f"warmfleet plan {ENVIRONMENT} --check", 60),
]
TEST = [
    Stage("llamacpp", "pytest -q -m llamacpp", 600),
    Stage("engine", "pytest -q -m 'engine and not machine'", 600),
    Stage("machine", "pytest -q -m 'machine and not engine'", 900, root=True),
    Stage("molecule", "molecule test --all --report", 1500, root=True),
    Stage("end to end", "pytest -q -m 'machine and engine'", 1500, root=True),
]


def main(arguments: list[str]) -> int:
    """Run a group, or only the named stages of it."""
    group, *names = arguments or ["check"]
    if group == "down":
        return _foreground(["warmfleet", "down", ENVIRONMENT])
    groups: dict[str, list[Stage]] = {"up": [], "check": CHECK, "test": CHECK + TEST}
    stages = groups.get(group)
    if stages is None or (unknown := set(names) - {stage.name for stage in stages}):
        what = f"stage {', '.join(sorted(unknown))}" if stages is not None else f"group {group}"
        print(f"error: no {what}; usage: stages.py up|down|check|test [STAGE ...]", file=sys.stderr)
        return 2
    started = time.monotonic()
    outcomes: list[Outcome] = []
    if group != "check":
        _keep_sudo()
        outcomes += side_by_side(PREPARE, at_once=len(PREPARE))
        if not all(outcome.passed for outcome in outcomes):
            return close(outcomes, time.monotonic() - started)
    if group == "up":
        return _foreground(["warmfleet", "up", ENVIRONMENT])
    chosen = [stage for stage in stages if not names or stage.name in names]
    outcomes += side_by_side([stage for stage in chosen if stage in CHECK], at_once=2)
    outcomes += side_by_side([stage for stage in chosen if stage not in CHECK], at_once=1)
    return close(outcomes, time.monotonic() - started)


def side_by_side(stages: list[Stage], *, at_once: int) -> list[Outcome]:
    """Run stages some at a time; when several, each line is marked with the stage that printed it.

    An interrupt arrives in this thread only. It ends what runs, waits for that, and starts no more.
    """

    def run_marked(stage: Stage) -> Outcome:
        return run(stage, prefix=f"[{stage.name}] " if at_once > 1 else "")

    with ThreadPoolExecutor(at_once) as pool:
        try:
            return list(pool.map(run_marked, stages))
        except BaseException:
            with _lock:
                _interrupted.set()
                running = list(_running.items())
            for process, stage in running:
                _end(process, stage, "by an interrupt")
            pool.shutdown(cancel_futures=True)
            raise


def run(stage: Stage, *, prefix: str = "") -> Outcome:
    """Run one stage, show and keep its output, end all of it at its limit."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log_file = LOGS / f"{stage.name.replace(' ', '-')}.log"
    if not prefix:
        _show(f"\n--- {stage.name}: {stage.command}")
    started = time.monotonic()
    counts: dict[str, int] = {}
    with log_file.open("w", encoding="utf-8", buffering=1) as log, _started(stage) as process:
        why = f"at its limit of {stage.limit_s:.0f} s"
        limit = threading.Timer(stage.limit_s, _end, [process, stage, why])
        limit.start()
        try:
            for line in process.stdout or ():
                log.write(line)
                _show(prefix + line.rstrip("\n"))
                _count(line, counts)
        finally:
            limit.cancel()
    return Outcome(stage, process.returncode, time.monotonic() - started, log_file, counts)


def close(outcomes: list[Outcome], seconds: float) -> int:
    """Print the table and the closing line; return the exit status."""
    width = max(len(outcome.stage.name) for outcome in outcomes)
    _show(f"\n{'stage'.ljust(width)}  result  {'time':>8}  tests")
    for outcome in outcomes:
        result = "passed" if outcome.passed else "FAILED"
        counts = ", ".join(f"{number} {word}" for word, number in outcome.counts.items())
        detail = counts if outcome.passed else f"{counts}  see {outcome.log.relative_to(ROOT)}"
        _show(f"{outcome.stage.name.ljust(width)}  {result}  {outcome.seconds:7.1f}s  {detail}")
    failed = [outcome for outcome in outcomes if not outcome.passed]
    totals: dict[str, int] = {}
    for outcome in outcomes:
        for word, number in outcome.counts.items():
            totals[word] = totals.get(word, 0) + number
    # A stage without tests of its own (a linter) that fails must not hide behind passed tests.
    if broken := sum(1 for outcome in failed if not _names_failures(outcome)):
        totals["errors"] = totals.get("errors", 0) + broken
    wanted = ("failed", "passed", "skipped", "xfailed", "errors")
    summary = ", ".join(f"{totals[word]} {word}" for word in wanted if totals.get(word))
    stages = f"{len(outcomes) - len(failed)} of {len(outcomes)} stages passed"
    closing = f" {summary or '0 passed'} in {seconds:.2f}s "
    _show(f"{stages}\n{closing.center(80, '=')}")
    return 1 if failed else 0


def _foreground(command: list[str]) -> int:
    """Run a command of the lab on the terminal itself; its provider calls podman through sudo.

    It holds Pulumi's lock, so it ends in its own time: the terminal's Ctrl-C reaches it without us.
    """
    _keep_sudo()
    early: list[int] = []
    signal.signal(signal.SIGINT, lambda *_: None)
    # Before the child is there: a signal between its start and a later handler would end us alone.
    _on_end_signals(lambda number, _: early.append(number))
    process = subprocess.Popen(command, cwd=ROOT, env=_environment())
    _on_end_signals(lambda number, _: process.send_signal(number))
    for number in early:
        process.send_signal(number)
    status = process.wait()
    return status if status >= 0 else 128 - status


def _on_end_signals(handler: Callable[[int, object], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup's wish
            signal.signal(number, handler)


def _environment() -> dict[str, str]:
    """Return the variables that make sets, also when this script is called without make."""
    path = [str(ROOT / ".venv" / "bin"), str(ROOT / ".tools" / "bin"), os.environ["PATH"]]
    project = os.environ.get("WARMFLEET_PROJECT", str(ROOT / "stacks"))
    return os.environ | {"PATH": os.pathsep.join(path), "WARMFLEET_PROJECT": project}


def _names_failures(outcome: Outcome) -> bool:
    return any(outcome.counts.get(word) for word in ("failed", "errors"))


def _count(line: str, counts: dict[str, int]) -> None:
    if (summary := _SUMMARY.match(_COLOUR.sub("", line.strip()))) is None:
        return
    for item in summary.group(1).split(", "):
        number, word = item.split()
        word = {"error": "errors", "warning": "warnings"}.get(word, word)
        if word != "deselected":
            counts[word] = counts.get(word, 0) + int(number)


@contextlib.contextmanager
def _started(stage: Stage) -> Iterator[subprocess.Popen[str]]:
    """Start a stage in a process group of its own; it counts as running until it was collected."""
    with _lock:
        if _interrupted.is_set():
            raise KeyboardInterrupt
        process = subprocess.Popen(
            stage.arguments,
            cwd=ROOT,
            env=_environment() | {"NO_COLOR": "1"},  # logs are read in editors
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            process_group=0,
        )
        _running[process] = stage
    try:
        with process:
            yield process
    finally:
        with _lock:
            del _running[process]


def _end(process: subprocess.Popen[str], stage: Stage, why: str) -> None:
    _show(f"{stage.name}: ended, {why}")
    _signal(process, stage, signal.SIGTERM)
    killer = threading.Timer(20, _signal, [process, stage, signal.SIGKILL])
    killer.daemon = True
    killer.start()


def _signal(process: subprocess.Popen[str], stage: Stage, number: signal.Signals) -> None:
    if process not in _running:
        return
    if stage.root and os.geteuid() != 0:
        kill = ["sudo", "-n", "kill", "-s", number.name.removeprefix("SIG"), "--"]
        subprocess.run([*kill, f"-{process.pid}"], check=False)
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _keep_sudo() -> None:
    """Ask for sudo's password once, before anything runs, and keep it from expiring."""
    if os.geteuid() == 0 or shutil.which("sudo") is None:
        return  # what needs root says so itself

    def silent() -> bool:
        return (
            subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
        )

    def renew() -> None:
        while silent():
            time.sleep(60)

    if silent() or subprocess.run(["sudo", "-v"], check=False).returncode == 0:
        threading.Thread(target=renew, daemon=True).start()


def _show(line: str) -> None:
    # In one piece: print() writes the line and its end apart, and another stage's comes between.
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _on_end_signals(lambda number, _: sys.exit(128 + number))
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
