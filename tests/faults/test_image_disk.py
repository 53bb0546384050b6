"""A disk full while the host image is built: one line, nothing left, and built the next time.

podman is the real one, with a storage of its own; the recipe is a short one of this test.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.small_disk import grow, mounted
from warmfleet.errors import DiskFullError
from warmfleet.provider import image

pytestmark = pytest.mark.machine

RECIPE = """
set -eu
mkdir "$1/root"
head -c 6M /dev/urandom >"$1/root/file"
tar --create --file="$1/rootfs.tar" --directory="$1/root" .
"""


@pytest.fixture(autouse=True)
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "recipe.sh"
    path.write_text(RECIPE)
    monkeypatch.setattr(image, "_RECIPE", path)
    monkeypatch.setattr(image, "_NEEDED_BYTES", 0)  # as if somebody else took it afterwards
    source = image.AptSource("http://mirror.example/debian", "bookworm")
    monkeypatch.setattr(image, "read_sources", lambda: [source])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with mounted(tmp_path / "cache", "64m") as folder:
        monkeypatch.setattr(image, "_CACHE", folder)
        yield folder


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A storage of its own for podman."""
    with mounted(tmp_path / "storage", "64m") as folder:
        conf = tmp_path / "storage.conf"
        places = f'graphroot = "{folder}"\nrunroot = "{tmp_path / "run"}"\n'
        conf.write_text(f'[storage]\ndriver = "vfs"\n{places}')
        monkeypatch.setenv("CONTAINERS_STORAGE_CONF", str(conf))
        yield folder


@pytest.mark.parametrize("full", ["cache", "storage"])
def test_it_is_one_line_and_the_next_build_goes_through(
    cache: Path, storage: Path, full: str
) -> None:
    disk = {"cache": cache, "storage": storage}[full]
    grow(disk, "4m")

    with pytest.raises(DiskFullError) as caught:
        image.ensure_image(print)

    assert str(caught.value) == (
        f"host image: no space is left on the disk of {cache}, or of podman's storage; "
        "needed: 0 MB on each; make room there and run it again"
    )
    assert not (cache / "image-build").exists()
    assert images() == []

    grow(disk, "64m")
    assert image.ensure_image(print) == image.image_tag()
    assert images() == [image.image_tag()]
    assert not (cache / "image-build").exists()


def images() -> list[str]:
    listed = ["podman", "images", "--all", "--format", "{{.Repository}}:{{.Tag}}"]
    return subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
