"""Keys and certificates of one environment: made once, kept in its private folder.

They never enter the stack's outputs, the inventory or a command line: programs get the *paths*,
and roles look the few values they need up by name.
"""

import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from warmfleet.errors import StackError
from warmfleet.private_files import replace_private, write_private_once
from warmfleet.project import Project
from warmfleet.stack.certificates import issue_authority, issue_server, still_serves, still_signs

__all__ = ["Credentials"]

_KEY_PREFIX = "wf-"  # lets scanners of logs and repositories recognise a leaked key


@dataclass(frozen=True)
class Credentials:
    """Paths of the secrets of one environment; ``folder`` is its private state."""

    folder: Path

    @classmethod
    def ensure(
        cls,
        project: Project,
        environment: str,
        server_names: Sequence[str],
        *,
        now: datetime | None = None,
    ) -> Self:
        """Return the credentials; make what is missing, renew what no longer serves.

        The server certificate is made again when ``server_names`` changed or fewer than 30 days of
        it are left (``now`` is a parameter for tests). Keys are kept for as long as the
        environment is. Two commands at once agree on one set.

        Raises:
            StackError: a kept file is damaged, or the folder is not writable.
        """
        found = cls(project.environment_state(environment))
        try:
            for folder in (found._ssh, found._secrets):
                folder.mkdir(mode=0o700, exist_ok=True)
            found._ensure_ssh_key(environment)
            if not found.api_key_file.exists():
                write_private_once(found.api_key_file, _KEY_PREFIX + secrets.token_urlsafe(32))
            found._ensure_certificates(environment, server_names, now or datetime.now(UTC))
        except OSError as error:
            msg = f"credentials of {environment}: {error.filename}: {error.strerror}"
            raise StackError(msg) from error
        return found

    @staticmethod
    def remove(project: Project, environment: str) -> None:
        """Delete all keys and certificates of the environment; fine when there are none."""
        found = Credentials(project.environment_state(environment))
        for folder in (found._ssh, found._secrets):
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def ssh_private_key_file(self) -> Path:
        """Key that hosts let in."""
        return self._ssh / "id_ed25519"

    @property
    def ssh_public_key(self) -> str:
        """Line for ``authorized_keys``."""
        return self._ssh.joinpath("id_ed25519.pub").read_text().strip()

    @property
    def known_hosts_file(self) -> Path:
        """Pinned host keys; written by the inventory from the stack's output."""
        return self._ssh / "known_hosts"

    @property
    def api_key_file(self) -> Path:
        """The key that clients send as bearer token."""
        return self._secrets / "api_key"

    @property
    def ca_file(self) -> Path:
        """Certificate that clients check the endpoint against."""
        return self._secrets / "ca.pem"

    @property
    def server_certificate_file(self) -> Path:
        """Certificate of the gateways."""
        return self._secrets / "server.pem"

    @property
    def server_key_file(self) -> Path:
        """Private key of the gateways' certificate."""
        return self._secrets / "server.key"

    @property
    def _ssh(self) -> Path:
        return self.folder / "ssh"

    @property
    def _secrets(self) -> Path:
        return self.folder / "secrets"

    def _ensure_ssh_key(self, environment: str) -> None:
        path = self.ssh_private_key_file
        if not path.exists():
            key = Ed25519PrivateKey.generate()
            encoded = key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.OpenSSH,
                serialization.NoEncryption(),
            )
            write_private_once(path, encoded.decode())
        try:
            kept = serialization.load_ssh_private_key(path.read_bytes(), None)
        except (ValueError, UnsupportedAlgorithm) as error:
            raise _damaged(path, error) from error
        public = kept.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
        line = f"{public.decode()} warmfleet-{environment}\n"
        public_file = path.with_suffix(".pub")
        if not public_file.exists() or public_file.read_text() != line:
            replace_private(public_file, line)

    def _ensure_certificates(
        self, environment: str, server_names: Sequence[str], now: datetime
    ) -> None:
        authority_key = _ensure_key(self._secrets / "ca.key")
        authority = _read_certificate(self.ca_file)
        if authority is None or not still_signs(authority, authority_key, now):
            authority = issue_authority(authority_key, environment, now)
            replace_private(self.ca_file, _pem(authority))
        key = _ensure_key(self.server_key_file)
        server = _read_certificate(self.server_certificate_file)
        if server is None or not still_serves(server, key, server_names, authority, now):
            server = issue_server(key, server_names, authority, authority_key, now)
            replace_private(self.server_certificate_file, _pem(server))


def _ensure_key(path: Path) -> ec.EllipticCurvePrivateKey:
    if not path.exists():
        encoded = ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        write_private_once(path, encoded.decode())
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), None)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _damaged(path, error) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise _damaged(path, TypeError("not an elliptic-curve key"))
    return key


def _read_certificate(path: Path) -> x509.Certificate | None:
    """Return None for a file that is missing or damaged: unlike a key, it can be made again."""
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _damaged(path: Path, error: Exception) -> StackError:
    return StackError(f"{path} is damaged ({error}); remove it to have a new one made")
