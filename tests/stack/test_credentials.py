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
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(credentials.server_certificate_file, credentials.server_key_file)
    client = ssl.create_default_context(cafile=str(credentials.ca_file))
    client.verify_flags |= ssl.VERIFY_X509_STRICT  # what newer Pythons do by default
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=(listener, server))
        thread.start()
        try:
            with (
                socket.create_connection(listener.getsockname(), timeout=5) as raw,
                client.wrap_socket(raw, server_hostname=server_name),
            ):
                pass
        finally:
            thread.join()


def accept(listener: socket.socket, context: ssl.SSLContext) -> None:
    raw, _ = listener.accept()
    try:
        context.wrap_socket(raw, server_side=True).close()
    except (ssl.SSLError, OSError):
        raw.close()


def test_made_once_and_kept(project: Project) -> None:
    first = contents(Credentials.ensure(project, "lab", NAMES))
    second = contents(Credentials.ensure(project, "lab", NAMES))
    assert first == second
    assert set(first) == {
        "ssh/id_ed25519",
        "ssh/id_ed25519.pub",
        "secrets/api_key",
        "secrets/ca.key",
        "secrets/ca.pem",
        "secrets/server.key",
        "secrets/server.pem",
    }


def test_nobody_else_reads_them(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in credentials.folder.rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}


def test_environments_share_no_secret(project: Project) -> None:
    lab = contents(Credentials.ensure(project, "lab", NAMES))
    other = contents(Credentials.ensure(project, "other", NAMES))
    assert not set(lab.values()) & set(other.values())


@pytest.mark.parametrize("server_name", NAMES)
def test_client_accepts_the_gateway(project: Project, server_name: str) -> None:
    handshake(Credentials.ensure(project, "lab", NAMES), server_name)


def test_client_refuses_a_name_that_is_not_in_the_plan(project: Project) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(Credentials.ensure(project, "lab", NAMES), "example.net")


def test_other_names_make_another_certificate_of_the_same_authority(project: Project) -> None:
    first = Credentials.ensure(project, "lab", NAMES)
    authority, certificate = first.ca_file.read_bytes(), first.server_certificate_file.read_bytes()
    second = Credentials.ensure(project, "lab", [*NAMES, "192.0.2.10"])
    assert second.ca_file.read_bytes() == authority
    assert second.server_certificate_file.read_bytes() != certificate
    handshake(second, "192.0.2.10")


@pytest.mark.parametrize(("days_left", "renewed"), [(31, False), (29, True)])
def test_certificate_is_renewed_before_it_ends(
    project: Project, days_left: int, renewed: bool
) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES)
    before = credentials.server_certificate_file.read_bytes()
    ends = x509.load_pem_x509_certificate(before).not_valid_after_utc
    Credentials.ensure(project, "lab", NAMES, now=ends - timedelta(days=days_left))
    assert (credentials.server_certificate_file.read_bytes() != before) is renewed


def test_authority_near_its_end_is_renewed_with_what_it_signed(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES)
    before = credentials.ca_file.read_bytes()
    later = datetime.now(UTC) + timedelta(days=3600)
    Credentials.ensure(project, "lab", NAMES, now=later)
    assert credentials.ca_file.read_bytes() != before
    authority = x509.load_pem_x509_certificate(credentials.ca_file.read_bytes())
    server = x509.load_pem_x509_certificate(credentials.server_certificate_file.read_bytes())
    server.verify_directly_issued_by(authority)
    assert server.not_valid_after_utc < authority.not_valid_after_utc


def test_ssh_accepts_the_key_pair(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES)
    derived = subprocess.run(
        ["ssh-keygen", "-y", "-f", str(credentials.ssh_private_key_file)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert credentials.ssh_public_key.split()[:2] == derived[:2]
    assert credentials.ssh_public_key.endswith(" warmfleet-lab")


def test_api_key_is_long_and_recognisable(project: Project) -> None:
    key = Credentials.ensure(project, "lab", NAMES).api_key_file.read_text()
    assert key.startswith("wf-")
    assert len(key) >= 40


@pytest.mark.parametrize("name", ["secrets/ca.key", "secrets/server.key", "ssh/id_ed25519"])
def test_damaged_key_is_one_clear_line(project: Project, name: str) -> None:
    folder = Credentials.ensure(project, "lab", NAMES).folder
    (folder / name).write_text("not a key")
    with pytest.raises(StackError) as caught:
        Credentials.ensure(project, "lab", NAMES)
    assert f"{folder / name} is damaged" in str(caught.value)
    assert "remove it" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lost_authority_key_leads_to_a_working_set(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES)
    (credentials.folder / "secrets" / "ca.key").unlink()
    handshake(Credentials.ensure(project, "lab", NAMES), "localhost")


def test_two_commands_at_once_agree(project: Project) -> None:
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(Credentials.ensure, project, "lab", NAMES) for _ in range(8)]
        found = [job.result() for job in jobs]
    handshake(found[0], "localhost")
    assert not list(found[0].folder.rglob(".*"))


def test_remove_leaves_no_secret_and_may_be_repeated(project: Project) -> None:
    credentials = Credentials.ensure(project, "lab", NAMES)
    for _ in range(2):
        Credentials.remove(project, "lab")
        assert not contents(credentials)
