"""The host image's name and its refusals; the build itself is exercised by the machine tests."""

import os
import re
import select
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from warmfleet.errors import PermissionNeededError, StackError, ToolMissingError
from warmfleet.provider import image


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH of our own, so that programs can be absent or behave as told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "cache"
    monkeypatch.setattr(image, "_CACHE", folder)
    yield folder
    assert not (folder / "image-build").exists(), "a build must clean up behind itself"


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_tag_follows_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = image.image_tag()
    assert re.fullmatch(r"localhost/warmfleet-host:[0-9a-f]{12}", before)
    assert image.image_tag() == before
    changed = tmp_path / "recipe.sh"
    changed.write_bytes(image._RECIPE.read_bytes() + b"# changed\n")
    monkeypatch.setattr(image, "_RECIPE", changed)
    assert image.image_tag() != before


@pytest.fixture
def as_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("sudo", [None, "echo a password is required >&2; exit 1"])
def test_without_root_it_says_so(programs: Path, sudo: str | None) -> None:
    if sudo is not None:
        program(programs, "sudo", sudo)
    with pytest.raises(PermissionNeededError, match=r"needs root, and this is user 1000.*sudo -v"):
        image.ensure_image(print)


@pytest.mark.usefixtures("as_user")
def test_with_sudo_the_build_runs_as_root(programs: Path) -> None:
    # Stands for the same command run by root.
    build = 'echo "host image: unpacking packages" >&2; echo noise >&2; echo localhost/x:1'
    program(programs, "sudo", f'[ "$3" = true ] && exit 0\necho "$@" > {programs}/said\n{build}')
    lines: list[str] = []
    assert image.ensure_image(lines.append) == "localhost/x:1"
    assert lines == ["unpacking packages"]
    said = (programs / "said").read_text()
    assert "-m warmfleet.provider.image" in said
    assert "/usr/sbin:/sbin" in said


@pytest.mark.usefixtures("as_user")
def test_a_build_that_fails_under_sudo_keeps_its_line(programs: Path) -> None:
    failure = "echo 'error: building from a mirror failed' >&2; exit 1"
    program(programs, "sudo", f'[ "$3" = true ] && exit 0\n{failure}')
    with pytest.raises(StackError, match=r"^building from a mirror failed$"):
        image.ensure_image(print)


@pytest.mark.usefixtures("as_root")
def test_missing_programs_are_named_with_their_packages(programs: Path) -> None:
    program(programs, "unshare", "exit 0")
    with pytest.raises(ToolMissingError, match="not installed: debootstrap podman;"):
        image.ensure_image(print)


@pytest.mark.usefixtures("as_root", "cache")
def test_an_image_that_is_there_is_not_built(programs: Path) -> None:
    program(programs, "podman", '[ "$1 $2" = "image exists" ]')
    program(programs, "debootstrap", "exit 1")
    program(programs, "unshare", "exit 1")
    lines: list[str] = []
    assert image.ensure_image(lines.append) == image.image_tag()
    assert lines == []


@pytest.mark.usefixtures("as_root", "cache")
def test_broken_podman_is_one_line(programs: Path) -> None:
    program(programs, "podman", "echo first >&2; echo 'Error: no storage' >&2; exit 125")
    for name in ("debootstrap", "unshare"):
        program(programs, name, "exit 0")
    with pytest.raises(StackError, match="podman does not work on this machine: Error: no storage"):
        image.ensure_image(print)


@pytest.mark.usefixtures("as_root")
def test_a_failed_mirror_is_one_line_and_imports_nothing(
    programs: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = tmp_path / "imported"
    program(programs, "podman", f'[ "$1" = image ] && exit 1\ntouch {imported}')
    program(programs, "debootstrap", "exit 0")
    program(programs, "unshare", "exit 0")
    program(programs, "apt-config", "exit 0")
    # Stands for the build, where debootstrap cannot reach the mirror.
    program(
        programs,
        "setpriv",
        "echo 'I: Retrieving InRelease'; echo 'E: Failed getting release file'; echo tail; exit 1",
    )
    source = image.AptSource("http://mirror.example/debian", "bookworm")
    monkeypatch.setattr(image, "read_sources", lambda: [source])
    lines: list[str] = []
    with pytest.raises(
        StackError, match=r"http://mirror\.example/debian failed: E: Failed getting"
    ) as failed:
        image.ensure_image(lines.append)
    assert "\n" not in str(failed.value)
    assert lines == ["downloading packages"]
    assert not imported.exists()
    assert (cache / "image-build.log").read_text().endswith("tail\n")


@pytest.fixture
def build(programs: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose mirror and podman are fake, with half a second for a build."""
    monkeypatch.setattr(image, "_LIMIT_S", 0.5)
    monkeypatch.setattr(image, "read_sources", lambda: [image.AptSource("http://x", "bookworm")])
    program(programs, "setpriv", 'shift 2; exec "$@"')
    for name in ("apt-config", "debootstrap", "unshare"):
        program(programs, name, "exit 0")
    program(programs, "podman", '[ "$1" = image ] && exit 1; exit 0')
    return cache


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize("slow", ["unshare", "podman"])
def test_a_build_that_hangs_ends_with_all_its_children(
    programs: Path, build: Path, slow: str
) -> None:
    hang = f"/bin/sleep 60 & echo $! > {programs}/child; wait"
    program(programs, slow, f'[ "$1" = image ] && exit 1; {hang}')
    started = time.monotonic()
    with pytest.raises(StackError, match=r"^the host image was not built within 0\.5 s; see \S+, "):
        image.ensure_image(print)
    assert time.monotonic() - started < 20
    assert ended_within(int((programs / "child").read_text()), seconds=10)
    assert (build / "image-build.log").is_file()


@pytest.mark.usefixtures("as_root", "build")
def test_a_failed_import_is_one_line(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "_LIMIT_S", 60)
    program(programs, "podman", '[ "$1" = image ] && exit 1; echo a; echo no space >&2; exit 125')
    with pytest.raises(StackError, match=r"^podman could not import the host image: no space$"):
        image.ensure_image(print)


def ended_within(pid: int, *, seconds: float) -> bool:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ended, _, _ = select.select([process], [], [], seconds)
    os.close(process)
    return bool(ended)
