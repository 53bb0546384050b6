"""Apt sources of the control machine, for building hosts from the same mirror.

No mirror is named in this project: whatever the machine itself installs from is used.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from warmfleet.errors import StackError

__all__ = ["RELEASE", "AptSource", "read_sources"]

RELEASE = "bookworm"
"""Debian release of the lab hosts."""

_COMPONENT = "main"
_SUITES = (RELEASE, f"{RELEASE}-updates", f"{RELEASE}-security")
_REACHABLE = ("http://", "https://")  # a cdrom or a folder of this machine is not there in a host


@dataclass(frozen=True)
class AptSource:
    """One archive and suite; ``str()`` is a line for ``sources.list``."""

    uri: str
    suite: str

    def __str__(self) -> str:
        """Return the one-line form, bound to Debian's own signing keys."""
        keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
        return f"deb [signed-by={keyring}] {self.uri} {self.suite} {_COMPONENT}"


def read_sources(folder: Path = Path("/etc/apt")) -> list[AptSource]:
    """Return the enabled sources of the release in ``folder``: its own suite first, no doubles.

    Raises:
        StackError: none is for the main component of the release.
    """
    found = set(_all_sources(folder))
    ordered = sorted(found, key=lambda source: (_SUITES.index(source.suite), source.uri))
    if not any(source.suite == RELEASE for source in ordered):
        msg = (
            f"no apt source for Debian {RELEASE} {_COMPONENT} in {folder}; lab hosts are built "
            f"from this machine's own mirror: use a Debian 12 machine or add such a source"
        )
        raise StackError(msg)
    return ordered


def _all_sources(folder: Path) -> Iterator[AptSource]:
    for path in [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*.list"))]:
        if path.is_file():
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                yield from _from_line(line)
    for path in sorted((folder / "sources.list.d").glob("*.sources")):
        for stanza in path.read_text(encoding="utf-8", errors="replace").split("\n\n"):
            yield from _from_stanza(stanza)


def _from_line(line: str) -> Iterator[AptSource]:
    text = line.partition("#")[0].strip()
    if not text.startswith(("deb ", "deb\t")):
        return
    words = text.removeprefix("deb").strip()
    if words.startswith("["):
        words = words.partition("]")[2]
    uri, suite, *components = [*words.split(), "", ""]
    yield from _matching([uri], [suite], components)


def _from_stanza(stanza: str) -> Iterator[AptSource]:
    fields: dict[str, list[str]] = {}
    name = ""
    for line in stanza.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        value = line
        if not line[0].isspace():
            name, _, value = line.partition(":")
            name = name.strip().lower()
        fields.setdefault(name, []).extend(value.split())
    enabled = fields.get("enabled", ["yes"])[0].lower() not in {"no", "false", "without", "off"}
    if enabled and "deb" in fields.get("types", []):
        yield from _matching(*(fields.get(key, []) for key in ("uris", "suites", "components")))


def _matching(uris: list[str], suites: list[str], components: list[str]) -> Iterator[AptSource]:
    if _COMPONENT not in components:
        return
    for named, suite in product(uris, suites):
        uri = _resolved(named)
        if suite in _SUITES and uri.startswith(_REACHABLE):
            yield AptSource(uri.rstrip("/"), suite)


def _resolved(uri: str) -> str:
    # Debian's cloud images name a file on the machine that lists mirrors, best first.
    scheme, separator, rest = uri.partition(":")
    if not separator or scheme != "mirror+file":
        return uri
    listed = Path("/" + rest.lstrip("/"))
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    return next((line.split()[0] for line in lines if line.startswith(_REACHABLE)), "")
