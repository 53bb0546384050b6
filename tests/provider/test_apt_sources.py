"""Apt sources in the forms that Debian 12 machines have them."""

from pathlib import Path

import pytest

from warmfleet.errors import StackError
from warmfleet.provider.apt_sources import AptSource, read_sources

MIRROR = "http://mirror.example/debian"
SECURITY = "http://mirror.example/debian-security"

DEB822 = f"""\
# comment
Types: deb deb-src
URIs: {MIRROR}/
Suites: bookworm bookworm-updates
  bookworm-backports
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: {SECURITY}
Suites: bookworm-security
Components: main
"""

ONE_LINE = f"""\
# deb http://commented.example/debian bookworm main
deb cdrom:[Debian GNU/Linux 12]/ bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] {MIRROR} bookworm main contrib
deb-src http://sources.example/debian bookworm main
deb {SECURITY} bookworm-security main  # security
deb http://other.example/apt stable main
deb http://contrib.example/debian bookworm contrib
"""


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_deb822_sources(tmp_path: Path) -> None:
    write(tmp_path, "sources.list.d/debian.sources", DEB822)
    assert read_sources(tmp_path) == [
        AptSource(MIRROR, "bookworm"),
        AptSource(MIRROR, "bookworm-updates"),
        AptSource(SECURITY, "bookworm-security"),
    ]


def test_one_line_sources(tmp_path: Path) -> None:
    write(tmp_path, "sources.list", ONE_LINE)
    assert read_sources(tmp_path) == [
        AptSource(MIRROR, "bookworm"),
        AptSource(SECURITY, "bookworm-security"),
    ]


def test_the_same_source_twice_counts_once(tmp_path: Path) -> None:
    write(tmp_path, "sources.list.d/a.list", f"deb {MIRROR} bookworm main\n")
    write(tmp_path, "sources.list.d/b.list", f"deb {MIRROR}/ bookworm main\n")
    assert read_sources(tmp_path) == [AptSource(MIRROR, "bookworm")]


def test_disabled_stanza_is_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        "sources.list.d/debian.sources",
        DEB822.replace("Types: deb\n", "Enabled: no\nTypes: deb\n"),
    )
    assert SECURITY not in {source.uri for source in read_sources(tmp_path)}


def test_disabled_files_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "sources.list.d/debian.sources.disabled", DEB822)
    with pytest.raises(StackError, match="no apt source for Debian bookworm main"):
        read_sources(tmp_path)


def test_mirror_file_of_cloud_images_gives_its_first_mirror(tmp_path: Path) -> None:
    write(
        tmp_path,
        "mirrors/debian.list",
        f"# ours\n{MIRROR} priority:1\nhttp://second.example/debian\n",
    )
    uri = f"mirror+file://{tmp_path}/mirrors/debian.list"
    write(tmp_path, "sources.list", f"deb {uri} bookworm main\n")
    assert read_sources(tmp_path) == [AptSource(MIRROR, "bookworm")]


def test_other_release_is_refused_in_one_line(tmp_path: Path) -> None:
    write(tmp_path, "sources.list", f"deb {MIRROR} trixie main\n")
    with pytest.raises(StackError, match="Debian 12") as refused:
        read_sources(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_source_prints_as_a_line_that_is_read_back(tmp_path: Path) -> None:
    source = AptSource(MIRROR, "bookworm")
    write(tmp_path, "sources.list", f"{source}\n")
    assert read_sources(tmp_path) == [source]
