"""What a released wheel holds, and what its installation brings to which side."""

import os
import re
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CONTROL_SIDE = {"ansible", "ansible-runner", "click", "paramiko", "pulumi"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    command = [Path(sys.executable).with_name("uv"), "build", "--quiet", "--wheel", "--offline"]
    command += ["--no-build-isolation", "--python", sys.executable, "--out-dir", target]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (found,) = target.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


@pytest.fixture(scope="module")
def metadata(unpacked: Path) -> Message:
    (path,) = unpacked.glob("*.dist-info/METADATA")
    return Parser().parsestr(path.read_text())


def tracked(folder: str, suffix: str = "") -> set[str]:
    """Return the files of the checkout below ``folder``, as a wheel should carry them."""
    return {
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob(f"*{suffix}")
        if path.is_file() and "__pycache__" not in path.parts
    }


def requirements(metadata: Message, extras: set[str]) -> set[str]:
    """Return the names that ``pip install warmfleet[extras]`` asks for."""
    names = set()
    for line in metadata.get_all("Requires-Dist", []):
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"extra == '([^']+)'", line)
        assert name is not None
        if extra is None or extra[1] in extras:
            names.add(name[0].lower())
    return names


def test_both_packages_are_whole(unpacked: Path) -> None:
    for package in ("warmfleet", "inference_app"):
        missing = {name for name in tracked(package) if not (unpacked / name).is_file()}
        assert missing == set()
        assert (unpacked / package / "py.typed").is_file()


def test_content_is_whole(unpacked: Path) -> None:
    content = unpacked / "warmfleet" / "_content"
    expected = tracked("roles") | tracked("templates") | {"ansible.cfg"}
    assert {name for name in expected if not (content / name).is_file()} == set()


def test_nothing_else_is_in_it(unpacked: Path) -> None:
    top = {path.name for path in unpacked.iterdir() if not path.name.endswith(".dist-info")}
    assert top == {"warmfleet", "inference_app"}
    unwanted = {"tests", "molecule", "__pycache__", ".warmfleet", ".venv", ".tools", "stacks"}
    assert [path for path in unpacked.rglob("*") if path.name in unwanted] == []


def test_the_packaged_content_is_found(unpacked: Path, tmp_path: Path) -> None:
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "import warmfleet.content as c; print(c.in_checkout(), c.content_root())",
        ],
        cwd=tmp_path,
        # An editable install is a path too; PYTHONPATH comes before it.
        env=os.environ | {"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["None", str(unpacked / "warmfleet" / "_content")]


def test_the_base_is_what_both_sides_share(metadata: Message) -> None:
    assert requirements(metadata, set()) == {"pydantic"}


def test_a_gpu_host_gets_no_control_side(metadata: Message) -> None:
    host = requirements(metadata, {"service", "llamacpp"})
    assert {"fastapi", "uvicorn", "xllamacpp"} <= host
    assert host.isdisjoint(CONTROL_SIDE)
    locked = (ROOT / "roles/inference_service/files/requirements.lock").read_text()
    names = set(re.findall(r"^([\w.-]+)==", locked, flags=re.MULTILINE))
    assert names.isdisjoint(CONTROL_SIDE - {"click"})  # uvicorn has a command line too
    assert {name for name in host if name not in names} == set()


def test_the_control_side_is_an_extra(metadata: Message) -> None:
    assert requirements(metadata, {"control"}) >= CONTROL_SIDE


def test_both_locks_agree() -> None:
    def pins(path: Path) -> dict[str, str]:
        return dict(re.findall(r"^([\w.-]+)==(\S+)", path.read_text(), flags=re.MULTILINE))

    whole = pins(ROOT / "requirements.lock")
    host = pins(ROOT / "roles/inference_service/files/requirements.lock")
    assert len(host) > 10
    assert {name: whole.get(name) for name in host} == host


def test_console_scripts(unpacked: Path) -> None:
    (path,) = unpacked.glob("*.dist-info/entry_points.txt")
    assert set(path.read_text().split("\n")) >= {
        "warmfleet = warmfleet.cli:main",
        "pulumi-resource-warmfleet = warmfleet.provider.__main__:main",
    }


def test_license_is_in_it(unpacked: Path) -> None:
    assert [*unpacked.glob("*.dist-info/licenses/LICENSE")]
