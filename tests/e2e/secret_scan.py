"""Finds private values where they must not be, as they are and in the forms that programs print."""

import base64
import json
import os
import threading
import urllib.parse
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_ssh_private_key,
)

__all__ = ["ProcessWatch", "Secrets", "forms"]

_SHORTEST = 12  # a shorter piece would be found by chance
_LARGEST = 16 * 1024 * 1024
_PUBLIC = {".pem", ".pub"}
_OPENSSH_HEAD = base64.b64encode(
    b"openssh-key-v1\0\0\0\0\4none\0\0\0\4none\0\0\0\0\0\0\0\1\0\0\0\x33"
    b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
)  # the format, the same in all keys


def forms(value: bytes) -> set[bytes]:
    """Return how a value may be written: plain, base64, hex, for URLs, in JSON."""
    text = value.decode("latin-1")
    found = {
        value,
        value.hex().encode(),
        value.hex().upper().encode(),
        urllib.parse.quote(text).encode(),
        urllib.parse.quote(text, safe="").encode(),
        urllib.parse.quote_plus(text).encode(),
        json.dumps(text)[1:-1].encode(),
    }
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        # Somewhere inside a longer text: three alignments, without the bytes that are shared.
        for shift in range(3):
            encoded = encode(bytes(shift) + value).rstrip(b"=")
            found.add(encoded[4 if shift else 0 : -1 if (shift + len(value)) % 3 else None])
    return {form for form in found if len(form) >= _SHORTEST}


class Secrets:
    """Named private values, ready to be looked for.

    Args:
        values: by name; of a key in PEM form its number and each line of its body are looked for.
        public: what is no secret although a key's file has it too: certificates, public keys.
    """

    def __init__(self, values: dict[str, bytes], public: bytes = b"") -> None:
        self.names = frozenset(values)
        self._forms = [
            (name, form)
            for name, value in values.items()
            for piece in _pieces(value)
            if not any(form in public for form in forms(piece))
            for form in forms(piece)
        ]

    @classmethod
    def of(cls, environment: Path, **others: bytes) -> Self:
        """Take every private value from an environment's credentials, whatever they are."""
        values, public = dict(others), [_OPENSSH_HEAD]
        for folder in ("secrets", "ssh"):
            for path in sorted((environment / folder).rglob("*")):
                if not path.is_file():
                    continue
                if path.suffix in _PUBLIC or path.name == "known_hosts":
                    public.append(path.read_bytes())
                else:
                    values[str(path.relative_to(environment))] = path.read_bytes().strip()
        return cls(values, b"\n".join(public))

    def found_in(self, content: bytes) -> set[str]:
        """Return the names of the values that the content holds in any form."""
        return {name for name, form in self._forms if form in content}

    def found_below(self, *roots: Path, skip: Iterable[str] = ()) -> dict[Path, set[str]]:
        """Return which files hold which values; names and suffixes in ``skip`` are passed over."""
        skipped = set(skip)
        found = {}
        for path in _files(roots, skipped):
            try:
                content = path.read_bytes() if path.stat().st_size <= _LARGEST else b""
            except OSError:  # gone since it was listed
                continue
            if names := self.found_in(content):
                found[path] = names
        return found


def _pieces(value: bytes) -> Iterator[bytes]:
    lines = [line for line in value.splitlines() if not line.startswith(b"-----")]
    yield from (line for line in lines if len(line) >= _SHORTEST)
    if b"-----BEGIN OPENSSH PRIVATE KEY" in value:
        key = load_ssh_private_key(value + b"\n", None)
        assert isinstance(key, Ed25519PrivateKey)
        yield key.private_bytes_raw()
    elif b"-----BEGIN PRIVATE KEY" in value:
        number = load_pem_private_key(value, None)
        assert isinstance(number, EllipticCurvePrivateKey)
        yield number.private_numbers().private_value.to_bytes(32, "big")


def _files(roots: Iterable[Path], skipped: set[str]) -> Iterator[Path]:
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in skipped]
            for name in names:
                path = Path(folder, name)
                if name in skipped or path.suffix in skipped or path.is_symlink():
                    continue
                if path.is_file():
                    yield path


class ProcessWatch:
    """Reads arguments and environments of all processes on this machine while a block runs.

    Containers' processes are among them. ``leaks`` has a line for each value that was seen;
    environments of processes outside containers are ``mine``: a credential that the user put
    there is there.
    """

    def __init__(self, secrets: Secrets, mine: Iterable[str] = (), proc: Path = Path("/proc")):
        self._secrets = secrets
        self._mine = set(mine)
        self._proc = proc
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._seen: dict[bytes, set[str]] = {}
        self.leaks: set[str] = set()
        self.processes: set[str] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def look(self) -> None:
        """Read every process once."""
        for folder in self._proc.iterdir():
            if folder.name.isdigit():
                self._look_at(folder)

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            self.look()

    def _look_at(self, folder: Path) -> None:
        try:
            arguments = (folder / "cmdline").read_bytes()
            environment = (folder / "environ").read_bytes()
            name = (folder / "comm").read_text(errors="replace").strip()
        except OSError:  # gone, or not ours to read
            return
        self.processes.add(name)
        for secret in self._found(arguments):
            self.leaks.add(f"{secret} in the arguments of {name}")
        for secret in self._found(environment):
            if secret not in self._mine or self._is_in_container(folder):
                self.leaks.add(f"{secret} in the environment of {name}")

    def _found(self, content: bytes) -> set[str]:
        # Most processes are there in every round with the same content.
        if content not in self._seen:
            self._seen[content] = self._secrets.found_in(content)
        return self._seen[content]

    def _is_in_container(self, folder: Path) -> bool:
        try:
            status = (folder / "status").read_text()
        except OSError:
            return False
        (numbers,) = [line for line in status.splitlines() if line.startswith("NSpid:")]
        return len(numbers.split()) > 2
