"""Keys and certificates: used as a client, a server and sshd would use them."""

import socket
import ssl
import stat
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from warmfleet.errors import StackError
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials

NAMES = ["localhost", "127.0.0.1"]
REPLICAS = {"replica-1": "192.0.2.11", "replica-2": "192.0.2.12"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "Pulumi.yaml").touch()
    return Project(tmp_path)


def contents(credentials: Credentials) -> dict[str, bytes]:
    return {
        str(path.relative_to(credentials.folder)): path.read_bytes()
        for path in credentials.folder.rglob("*")
        if path.is_file()
    }


def handshake(credentials: Credentials, server_name: str) -> None:
    """Serve one TLS connection with the gateway's files and verify it with the CA file."""
    client = ssl.create_default_context(cafile=str(credentials.ca_file))
    connect(server(credentials.server_certificate_file), client, server_name)


def server(certificate: Path, client_ca: Path | None = None) -> ssl.SSLContext:
    """Serve with a certificate; with ``client_ca`` as a replica does, for its clients alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    if client_ca is not None:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def gateway(credentials: Credentials, certificate: Path | None = None) -> ssl.SSLContext:
    """Connect as a gateway does, with its own certificate or another."""
    context = ssl.create_default_context(cafile=str(credentials.fleet_ca_file))
    shown = certificate or credentials.client_certificate_file
    context.load_cert_chain(shown, shown.with_suffix(".key"))
    return context


def connect(server: ssl.SSLContext, client: ssl.SSLContext, server_name: str) -> None:
    """Make one connection and say a word each way: only then has each side accepted the other."""
    client.verify_flags |= ssl.VERIFY_X509_STRICT  # what newer Pythons do by default
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=(listener, server))
        thread.start()
        try:
            with (
                socket.create_connection(listener.getsockname(), timeout=5) as raw,
                client.wrap_socket(raw, server_hostname=server_name) as tls,
            ):
                tls.sendall(b"?")
                if tls.recv(1) != b"!":
                    raise ssl.SSLError("closed")
        finally:
            thread.join()


def accept(listener: socket.socket, context: ssl.SSLContext) -> None:
    raw, _ = listener.accept()
    try:
        with context.wrap_socket(raw, server_side=True) as tls:
            tls.recv(1)
            tls.sendall(b"!")
    except (ssl.SSLError, OSError):
        raw.close()


def test_made_once_and_kept(project: Project) -> None:
    first = contents(Credentials.ensure(project, "lab", NAMES, REPLICAS))
    second = contents(Credentials.ensure(project, "lab", NAMES, REPLICAS))
    assert first == second
    assert set(first) == {
        "ssh/id_ed25519",
        "ssh/id_ed25519.pub",
        "secrets/api_key",
        "secrets/ca.key",
        "secrets/ca.pem",
        "secrets/server.key",
        "secrets/server.pem",
        "secrets/fleet/ca.key",
        "secrets/fleet/ca.pem",
        "secrets/fleet/client.key",
        "secrets/fleet/client.pem",
        "secrets/fleet/replicas/replica-1.key",
        "secrets/fleet/replicas/replica-1.pem",
        "secrets/fleet/replicas/replica-2.key",
        "secrets/fleet/replicas/replica-2.pem",
    }


def test_nobody_else_reads_them(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES, REPLICAS)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in credentials.folder.rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}


def test_environments_share_no_secret(project: Project) -> None:
    lab = contents(Credentials.ensure(project, "lab", NAMES, REPLICAS))
    other = contents(Credentials.ensure(project, "other", NAMES, REPLICAS))
    assert not set(lab.values()) & set(other.values())


@pytest.mark.parametrize("server_name", NAMES)
def test_client_accepts_the_gateway(project: Project, server_name: str) -> None:
    handshake(Credentials.ensure(project, "lab", NAMES, REPLICAS), server_name)


def test_client_refuses_a_name_that_is_not_in_the_plan(project: Project) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(Credentials.ensure(project, "lab", NAMES, REPLICAS), "example.net")


def test_other_names_make_another_certificate_of_the_same_authority(project: Project) -> None:
    first = Credentials.ensure(project, "lab", NAMES, REPLICAS)
    authority, certificate = first.ca_file.read_bytes(), first.server_certificate_file.read_bytes()
    second = Credentials.ensure(project, "lab", [*NAMES, "192.0.2.10"], REPLICAS)
    assert second.ca_file.read_bytes() == authority
    assert second.server_certificate_file.read_bytes() != certificate
    handshake(second, "192.0.2.10")


@pytest.mark.parametrize("server_name", ["replica-1", "192.0.2.11"])
def test_gateway_and_replica_accept_each_other(project: Project, server_name: str) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES, REPLICAS)
    replica = server(credentials.replica_certificate_file("replica-1"), credentials.fleet_ca_file)
    connect(replica, gateway(credentials), server_name)


def test_replica_refuses_who_is_not_the_gateway(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES, REPLICAS)
    other = Credentials.ensure(project, "other", NAMES, REPLICAS)
    replica = server(credentials.replica_certificate_file("replica-1"), credentials.fleet_ca_file)
    for stranger in (
        ssl.create_default_context(cafile=str(credentials.fleet_ca_file)),
        gateway(credentials, other.client_certificate_file),
        gateway(credentials, credentials.server_certificate_file),
        gateway(credentials, credentials.replica_certificate_file("replica-2")),
    ):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connect(replica, stranger, "replica-1")


def test_gateway_refuses_who_is_not_the_replica(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES, REPLICAS)
    other = Credentials.ensure(project, "other", NAMES, REPLICAS)
    for impostor in (
        credentials.replica_certificate_file("replica-2"),
        credentials.server_certificate_file,
        credentials.client_certificate_file,
        other.replica_certificate_file("replica-1"),
    ):
        replica = server(impostor, credentials.fleet_ca_file)
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(replica, gateway(credentials), "replica-1")


def test_replica_cannot_stand_in_for_the_endpoint(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES, {"localhost": "127.0.0.1"})
    client = ssl.create_default_context(cafile=str(credentials.ca_file))
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(server(credentials.replica_certificate_file("localhost")), client, "localhost")


def test_replica_that_moved_gets_another_certificate(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES, REPLICAS)
    files = [credentials.replica_certificate_file(host) for host in REPLICAS]
    before = [file.read_bytes() for file in files]
    Credentials.ensure(project, "lab", NAMES, {**REPLICAS, "replica-2": "192.0.2.99"})
    assert [file.read_bytes() == old for file, old in zip(files, before, strict=True)] == [
        True,
        False,
    ]


@pytest.mark.parametrize("name", ["server.pem", "fleet/client.pem", "fleet/replicas/replica-1.pem"])
@pytest.mark.parametrize(("days_left", "renewed"), [(31, False), (29, True)])
def test_certificate_is_renewed_before_it_ends(
    project: Project, name: str, days_left: int, renewed: bool
) -> None:
    file = Credentials.ensure(project, "lab", NAMES, REPLICAS).folder / "secrets" / name
    before = file.read_bytes()
    ends = x509.load_pem_x509_certificate(before).not_valid_after_utc
    Credentials.ensure(project, "lab", NAMES, REPLICAS, now=ends - timedelta(days=days_left))
    assert (file.read_bytes() != before) is renewed


def test_authority_near_its_end_is_renewed_with_what_it_signed(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES, REPLICAS)
    before = credentials.ca_file.read_bytes()
    later = datetime.now(UTC) + timedelta(days=3600)
    Credentials.ensure(project, "lab", NAMES, REPLICAS, now=later)
    assert credentials.ca_file.read_bytes() != before
    authority = x509.load_pem_x509_certificate(credentials.ca_file.read_bytes())
    served = x509.load_pem_x509_certificate(credentials.server_certificate_file.read_bytes())
    served.verify_directly_issued_by(authority)
    assert served.not_valid_after_utc < authority.not_valid_after_utc


def test_hosts_may_get_a_renewed_authority_one_after_the_other(
    project: Project, tmp_path: Path
) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES, REPLICAS)
    old_ca = tmp_path / "old_ca.pem"
    old_ca.write_bytes(credentials.fleet_ca_file.read_bytes())
    old_replica = server(credentials.replica_certificate_file("replica-1"), old_ca)
    old_gateway = gateway(credentials)
    # Certificates of today, signed by the renewed authority: those of later are not valid yet.
    credentials.fleet_ca_file.write_text("damaged")
    for file in (
        credentials.client_certificate_file,
        credentials.replica_certificate_file("replica-1"),
    ):
        file.write_text("damaged")
    Credentials.ensure(project, "lab", NAMES, REPLICAS)
    assert credentials.fleet_ca_file.read_bytes() != old_ca.read_bytes()
    new = server(credentials.replica_certificate_file("replica-1"), credentials.fleet_ca_file)
    connect(new, old_gateway, "replica-1")
    connect(old_replica, gateway(credentials), "replica-1")


def test_ssh_accepts_the_key_pair(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES, REPLICAS)
    derived = subprocess.run(
        ["ssh-keygen", "-y", "-f", str(credentials.ssh_private_key_file)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert credentials.ssh_public_key.split()[:2] == derived[:2]
    assert credentials.ssh_public_key.endswith(" warmfleet-lab")


def test_api_key_is_long_and_recognisable(project: Project) -> None:
    key = Credentials.ensure(project, "lab", NAMES, REPLICAS).api_key_file.read_text()
    assert key.startswith("wf-")
    assert len(key) >= 40


@pytest.mark.parametrize(
    "name", ["secrets/ca.key", "secrets/server.key", "secrets/fleet/client.key", "ssh/id_ed25519"]
)
def test_damaged_key_is_one_clear_line(project: Project, name: str) -> None:
    folder = Credentials.ensure(project, "lab", NAMES, REPLICAS).folder
    (folder / name).write_text("not a key")
    with pytest.raises(StackError) as caught:
        Credentials.ensure(project, "lab", NAMES, REPLICAS)
    assert f"{folder / name} is damaged" in str(caught.value)
    assert "remove it" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lost_authority_key_leads_to_a_working_set(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES, REPLICAS)
    (credentials.folder / "secrets" / "ca.key").unlink()
    handshake(Credentials.ensure(project, "lab", NAMES, REPLICAS), "localhost")


def test_two_commands_at_once_agree(project: Project) -> None:
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(Credentials.ensure, project, "lab", NAMES, REPLICAS) for _ in range(8)]
        found = [job.result() for job in jobs]
    handshake(found[0], "localhost")
    assert not list(found[0].folder.rglob(".*"))


def test_remove_leaves_no_secret_and_may_be_repeated(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES, REPLICAS)
    for _ in range(2):
        Credentials.remove(project, "lab")
        assert not contents(credentials)
