"""The wheelhouse: named by what a host installs, made whole or not at all."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import inference_app
from warmfleet.content import content_root
from warmfleet.converge import wheel, wheelhouse
from warmfleet.converge.wheel import ServiceWheel
from warmfleet.converge.wheelhouse import ARCHIVE, ensure_wheelhouse, release_digest
from warmfleet.errors import ConvergeError
from warmfleet.project import Project

SERVICE = Path(inference_app.__file__).parent


@pytest.fixture
def lock(tmp_path: Path, shelf: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock of one package that is on the shelf, where the role has its own."""
    digest = shelf.add("tiny", {"tiny.py": b""})
    file = tmp_path / "content" / "roles" / "inference_service" / "files" / "requirements.lock"
    file.parent.mkdir(parents=True)
    file.write_text(f"tiny==1.0 --hash=sha256:{digest}\n")
    monkeypatch.setattr(wheelhouse, "content_root", lambda: tmp_path / "content")
    return file


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the service that a test may change."""
    copy = tmp_path / "copy" / "inference_app"
    shutil.copytree(SERVICE, copy)
    found = type("Spec", (), {"origin": str(copy / "__init__.py")})
    monkeypatch.setattr(wheel, "find_spec", lambda _: found)
    return copy


def ignore(_: str) -> None:
    """Take a progress line."""


@pytest.mark.usefixtures("lock")
def test_holds_the_locked_wheels_and_the_service(project: Project) -> None:
    lines: list[str] = []
    house = ensure_wheelhouse(project, lines.append)
    assert sorted(path.name for path in house.path.iterdir()) == [
        "tiny-1.0-py3-none-any.whl",
        ServiceWheel().file_name,
        ARCHIVE,
    ]
    with tarfile.open(house.path / ARCHIVE) as archive:
        assert archive.getnames() == ["tiny-1.0-py3-none-any.whl", ServiceWheel().file_name]
        assert {entry.mtime for entry in archive.getmembers()} == {0}
    assert house.path.name == house.digest
    assert lines[0] == f"wheelhouse {house.digest}: fetching the wheels of requirements.lock"
    lines.clear()
    assert ensure_wheelhouse(project, lines.append) == house
    assert lines == []


def test_a_host_can_install_and_import_it(tmp_path: Path) -> None:
    """With pip as on a host: no index, a folder of wheels, the requirement that roles get."""
    made = ServiceWheel()
    (tmp_path / made.file_name).write_bytes(made.content())
    target = tmp_path / "installed"
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet"]
    command += ["--disable-pip-version-check", "--root-user-action=ignore"]
    command += ["--find-links", str(tmp_path), "--target", str(target), made.requirement]
    subprocess.run(command, check=True, timeout=60)
    assert not (target / "warmfleet").exists()  # nothing of the control side
    code = "import inference_app.settings as s; print(s.__file__)"
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=target, capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip().startswith(str(target))


def test_wheel_asks_for_what_the_service_needs_and_no_more() -> None:
    requires = ServiceWheel()._requires
    names = " ".join(requires)
    assert "pydantic" in names
    assert "fastapi" in names
    assert "xllamacpp" in names
    assert not [entry for entry in requires if 'extra == "control"' in entry or "ansible" in entry]


def test_same_service_gives_the_same_bytes(service: Path) -> None:
    before = ServiceWheel().content()
    for path in service.rglob("*.py"):
        path.touch()
    (service / "README.md").write_text("reworded")
    (service / "__pycache__").mkdir(exist_ok=True)
    (service / "__pycache__" / "settings.cpython-311.pyc").write_bytes(b"compiled")
    assert ServiceWheel().content() == before


def test_digest_follows_service_and_lock_only(service: Path, lock: Path) -> None:
    def digest() -> str:
        return release_digest(ServiceWheel().content(), lock)

    first = digest()
    (lock.parents[1] / "tasks.yml").write_text("- an edited role\n")
    assert digest() == first
    with (service / "settings.py").open("a") as file:
        file.write("CHANGED = True\n")
    second = digest()
    with lock.open("a") as file:
        file.write("other==1.0 --hash=sha256:0123\n")
    assert len({first, second, digest()}) == 3


def test_wheel_that_is_not_the_locked_one_is_refused(
    lock: Path, shelf: Any, project: Project
) -> None:
    assert lock.is_file()
    shelf.add("tiny", {"tiny.py": b"import os"})
    with pytest.raises(ConvergeError) as caught:
        ensure_wheelhouse(project, ignore)
    assert "\n" not in str(caught.value)
    assert [path.name for path in (project.state / "wheelhouse").iterdir()] == [".lock"]


def test_old_ones_and_drafts_of_a_killed_run_go(lock: Path, project: Project) -> None:
    assert lock.is_file()
    root = project.state / "wheelhouse"
    root.mkdir()
    for name, used in ((".draft-killed", 9), ("oldest", 1), ("older", 2), ("old", 3)):
        (root / name).mkdir()
        os.utime(root / name, (used, used))
    newest = ensure_wheelhouse(project, ignore).path.name
    left = {path.name for path in root.iterdir() if path.is_dir()}
    assert left == {newest, "old", "older"}


def test_command_prefetches_and_prints_the_path(
    lock: Path,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert lock.is_file()
    monkeypatch.setenv("WARMFLEET_PROJECT", str(project.root))
    assert wheelhouse.main([]) == 0  # no environments: nothing but the wheels
    shown = capsys.readouterr()
    assert shown.out == f"{ensure_wheelhouse(project, ignore).path}\n"
    assert wheelhouse.main(["lab"]) == 3
    assert "error: plan " in capsys.readouterr().err


def test_role_has_the_lock() -> None:
    lock = content_root() / "roles" / "inference_service" / "files" / "requirements.lock"
    text = lock.read_text()
    assert "xllamacpp==" in text
    assert text.count("--hash=sha256:") > text.count("==")
    assert not zipfile.is_zipfile(lock)
