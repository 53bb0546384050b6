"""Keys and certificates of one environment: made once, kept in its private folder.

They never enter the stack's outputs, the inventory or a command line: programs get the *paths*,
and roles look the few values they need up by name.

Two authorities, so that neither side can stand in for the other: clients trust the endpoint's, and
gateways and replicas trust the fleet's own.
"""

import secrets
import shutil
from collections.abc import Mapping, Sequence
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
from warmfleet.plan.models import FleetPlan, HostRole
from warmfleet.private_files import replace_private, write_private_once
from warmfleet.project import Project
from warmfleet.stack.certificates import (
    Purpose,
    issue_authority,
    issue_certificate,
    still_serves,
    still_signs,
)

__all__ = ["Credentials"]

_KEY_PREFIX = "wf-"  # lets scanners of logs and repositories recognise a leaked key
_CLIENT_NAME = "gateway"


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
        replicas: Mapping[str, str],
        *,
        now: datetime | None = None,
    ) -> Self:
        """Return the credentials; make what is missing, renew what no longer serves.

        ``replicas`` has the private address of each by the name of its host. A certificate is made
        again when its names changed or fewer than 30 days of it are left (``now`` is a parameter
        for tests). Keys are kept for as long as the environment is. Two commands at once agree on
        one set.

        Raises:
            StackError: a kept file is damaged, or the folder is not writable.
        """
        found = cls(project.environment_state(environment))
        try:
            for folder in (found._ssh, found._secrets, found._fleet, found._replicas):
                folder.mkdir(mode=0o700, exist_ok=True)
            found._ensure_ssh_key(environment)
            if not found.api_key_file.exists():
                write_private_once(found.api_key_file, _KEY_PREFIX + secrets.token_urlsafe(32))
            now = now or datetime.now(UTC)
            found._ensure_endpoint(environment, server_names, now)
            found._ensure_fleet(environment, replicas, now)
        except OSError as error:
            msg = f"credentials of {environment}: {error.filename}: {error.strerror}"
            raise StackError(msg) from error
        return found

    @classmethod
    def ensure_for(cls, project: Project, plan: FleetPlan) -> Self:
        """Return the credentials that the hosts of a plan need; like ``ensure``."""
        replicas = {
            host.name: host.private_address for host in plan.hosts if host.role is HostRole.REPLICA
        }
        return cls.ensure(project, plan.environment, plan.endpoint.server_names, replicas)

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
        """Certificate that gateways show to clients."""
        return self._secrets / "server.pem"

    @property
    def server_key_file(self) -> Path:
        """Private key of that certificate."""
        return self._secrets / "server.key"

    @property
    def fleet_ca_file(self) -> Path:
        """Certificate that gateways and replicas check each other against."""
        return self._fleet / "ca.pem"

    @property
    def client_certificate_file(self) -> Path:
        """Certificate that gateways, and this machine, show to replicas."""
        return self._fleet / "client.pem"

    @property
    def client_key_file(self) -> Path:
        """Private key of that certificate."""
        return self._fleet / "client.key"

    def replica_certificate_file(self, host: str) -> Path:
        """Return the file of the certificate that a replica shows, for its host's name."""
        return self._replicas / f"{host}.pem"

    def replica_key_file(self, host: str) -> Path:
        """Return the file of that certificate's private key."""
        return self._replicas / f"{host}.key"

    @property
    def _ssh(self) -> Path:
        return self.folder / "ssh"

    @property
    def _secrets(self) -> Path:
        return self.folder / "secrets"

    @property
    def _fleet(self) -> Path:
        return self._secrets / "fleet"

    @property
    def _replicas(self) -> Path:
        return self._fleet / "replicas"

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

    def _ensure_endpoint(
        self, environment: str, server_names: Sequence[str], now: datetime
    ) -> None:
        authority = _Authority.kept(self.ca_file, f"warmfleet {environment} CA", now)
        authority.certify(self.server_certificate_file, Purpose.SERVER, server_names, now)

    def _ensure_fleet(self, environment: str, replicas: Mapping[str, str], now: datetime) -> None:
        title = f"warmfleet {environment} fleet CA"
        authority = _Authority.kept(self.fleet_ca_file, title, now)
        authority.certify(self.client_certificate_file, Purpose.CLIENT, [_CLIENT_NAME], now)
        for host, address in replicas.items():
            certificate = self.replica_certificate_file(host)
            authority.certify(certificate, Purpose.SERVER, [host, address], now)


@dataclass(frozen=True)
class _Authority:
    """A private key that signs, and its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def kept(cls, file: Path, title: str, now: datetime) -> Self:
        """Return the authority whose certificate is ``file``; its key is beside it."""
        key = _ensure_key(file.with_suffix(".key"))
        certificate = _read_certificate(file)
        if certificate is None or not still_signs(certificate, key, now):
            certificate = issue_authority(key, title, now)
            replace_private(file, _pem(certificate))
        return cls(key, certificate)

    def certify(self, file: Path, purpose: Purpose, names: Sequence[str], now: datetime) -> None:
        """Have a certificate for the key beside ``file``."""
        key = _ensure_key(file.with_suffix(".key"))
        kept = _read_certificate(file)
        if kept is None or not still_serves(kept, key, names, self.certificate, now):
            made = issue_certificate(key, purpose, names, self.certificate, self.key, now)
            replace_private(file, _pem(made))


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
