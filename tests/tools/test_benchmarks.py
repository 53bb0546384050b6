"""The benchmark runner, with scripts of the test's own, and the form of the scripts there are."""

import asyncio
import importlib
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.tools.loading import TOOLS, load_tool

FIGURE = {"name": "overhead", "value": 1.5, "unit": "ms", "better": "lower", "n": 5}
PEER = {"name": "another", "value": 3.0}


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = load_tool("benchmarks")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    return module


def call(runner: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["benchmarks.py", *arguments])
    return int(runner.main())


def write(runner: ModuleType, name: str, body: str) -> None:
    (runner.FOLDER / f"{name}.py").write_text(f"import sys, json\n{body}\n")


def test_figures_are_shown_and_kept(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = {"figures": [FIGURE | {"peer": PEER}]}
    write(runner, "edge", f"assert sys.argv[1:] == ['--json']\nprint(json.dumps({result!r}))")
    assert call(runner, monkeypatch) == 0
    assert capsys.readouterr().out == "edge: overhead 1.5 ms (n=5), another 3 ms\n"
    assert json.loads((runner.FOLDER / "results" / "edge.json").read_text()) == result


def test_quick_results_are_not_kept(runner: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    write(runner, "edge", "assert '--quick' in sys.argv\nprint(json.dumps({'figures': []}))")
    assert call(runner, monkeypatch, "--quick") == 0
    assert not (runner.FOLDER / "results").exists()


def test_a_failed_script_fails_the_run(runner: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    write(runner, "bad", "sys.exit(3)")
    write(runner, "good", f"print(json.dumps({{'figures': [{FIGURE!r}]}}))")
    assert call(runner, monkeypatch) == 1
    assert (runner.FOLDER / "results" / "good.json").is_file()


def test_no_such_script_is_one_line(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(runner, monkeypatch) == 1
    write(runner, "edge", "")
    assert call(runner, monkeypatch, "other") == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith("error: no benchmark") for line in lines] == [True, True]
    assert "there are: edge" in lines[1]


BENCHMARKS = TOOLS.parent / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.glob("[a-z]*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_has_the_form_of_all(script: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(script), "--help"], capture_output=True, text=True, check=True
    )
    assert {"--json", "--quick"} <= set(done.stdout.replace("]", " ").split())
    assert f"| `{script.name}` |" in (BENCHMARKS / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import modules of the folder as its scripts do it."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for name in {path.stem for path in BENCHMARKS.glob("*.py")} & sys.modules.keys():
        del sys.modules[name]


def own_script(folder: Path, measure: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script whose ``measure`` has the body that is given."""
    script = folder / "own.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(BENCHMARKS)!r})\n"
        "from _figures import command, figure, note, progress\n"
        f"def measure(quick):\n{textwrap.indent(measure, '    ')}\n"
        "sys.exit(command(measure, name='own', description='Own.', limits_s=(1, 1)))\n"
    )
    return subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, check=False
    )


def test_figures_are_printed_with_what_they_were_measured_on(tmp_path: Path) -> None:
    measure = (
        "progress('half')\nnote('no peer here')\n"
        "return [figure('added', [1.0, 3.0, 2.0], 'ms', 'lower', goal=3, "
        "peer={'name': 'other', 'value': 5.0})]"
    )
    done = own_script(tmp_path, measure, "--json", "--quick")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    (found,) = document.pop("figures")
    assert document == {"name": "own", "quick": True, "notes": ["no peer here"]}
    assert found.pop("machine").partition(", load ")[2]
    assert found == {
        "name": "added",
        "value": 2.0,
        "min": 1.0,
        "max": 3.0,
        "unit": "ms",
        "better": "lower",
        "n": 3,
        "goal": 3,
        "peer": {"name": "other", "value": 5.0},
    }
    assert done.stderr.splitlines() == ["no peer here", "half"][::-1]


@pytest.mark.parametrize(
    ("measure", "line"),
    [
        ("raise RuntimeError('the service\\nended')", "error: own: the service ended"),
        ("import time; time.sleep(60)", "error: own: not done within 1 s"),
    ],
)
def test_a_failure_is_one_line_in_bounded_time(tmp_path: Path, measure: str, line: str) -> None:
    done = own_script(tmp_path, measure, "--json")
    assert (done.returncode, done.stdout, done.stderr.splitlines()) == (1, "", [line])


async def test_a_stream_is_counted_however_it_is_cut(
    shared: Callable[[str], ModuleType],
) -> None:
    streams = shared("_streams")
    body = b"data: {}\n\n" * 3 + b"data: [DONE]\n\n"
    answer = b"HTTP/1.1 200 -\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        for byte in answer:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        target = streams.Target("own", server.sockets[0].getsockname()[:2], keeps=False)
        async with streams.Client(target) as client:
            sample = await client.stream(b"{}")
    assert sample.events == 4
    assert 0 < sample.first_s <= sample.total_s


def test_figures_of_a_service_are_taken(
    shared: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, streams = shared("_service"), shared("streams")
    monkeypatch.setattr(streams, "_FAST_STREAMS", 2)
    with service.running(service.fake_settings(2, tokens_per_s=200.0)) as running:
        assert running.ledger()["state"] == "ready"
        watch = streams._Watch(running)
        with watch.on():
            rate, cores = asyncio.run(streams._relay(running, streams.chat_body(20, 40)))
    assert rate > 0
    assert cores > 0
    assert watch.answers_s
    assert watch.most_mib > 1
