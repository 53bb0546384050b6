"""Tracked files hold for every machine: no mirror, no index, no path of one machine."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# In two halves, so that this file passes its own test.
REGISTRIES = [
    f"{name}.{domain}"
    for name, domain in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("deb.debian", "org"),
        ("security.debian", "org"),
        ("snapshot.debian", "org"),
        ("proxy.golang", "org"),
        ("sum.golang", "org"),
        ("registry.npmjs", "org"),
        ("docker", "io"),
    )
]
MACHINE_PATH = re.compile(r"(?<![\w.}/])/(?:home|Users|workspace|work)/[A-Za-z]\w*")
PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/]{40}")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout")
    # What a commit would hold now: tracked files, and new ones that are not ignored.
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = {}
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file():
            found[name] = path.read_text(encoding="utf-8", errors="replace")
    return found


def test_no_registry_is_named(texts: dict[str, str]) -> None:
    pattern = re.compile("|".join(rf"(?<![\w-]){re.escape(host)}" for host in REGISTRIES))
    found = {name: hit[0] for name, text in texts.items() if (hit := pattern.search(text))}
    assert found == {}


def test_no_path_of_one_machine(texts: dict[str, str]) -> None:
    found = {name: hit[0] for name, text in texts.items() if (hit := MACHINE_PATH.search(text))}
    assert found == {}


def test_no_private_key(texts: dict[str, str]) -> None:
    assert [name for name, text in texts.items() if PRIVATE_KEY.search(text)] == []


def test_private_state_is_ignored(texts: dict[str, str]) -> None:
    parts = {part for name in texts for part in Path(name).parts}
    assert parts.isdisjoint({".warmfleet", ".venv", ".tools", ".cache", "__pycache__"})


def test_scripts_are_executable(texts: dict[str, str]) -> None:
    scripts = [name for name in texts if name.startswith("tools/") and name.endswith(".sh")]
    assert scripts
    assert [
        name for name in [*scripts, ".ci/run"] if not (ROOT / name).stat().st_mode & 0o100
    ] == []
