"""The scanner finds what is planted for it: else a clean result would say nothing."""

import base64
import json
import os
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from tests.e2e.secret_scan import ProcessWatch, Secrets, forms
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials

VALUE = b"wf-Canary+value/with=signs&more"
SECRETS = Secrets({"key": VALUE})


@pytest.mark.parametrize(
    "leak",
    [
        VALUE,
        b'{"key": "' + VALUE + b'"}',
        VALUE.hex().encode(),
        VALUE.hex().upper().encode(),
        urllib.parse.quote(VALUE).encode(),
        urllib.parse.urlencode({"key": VALUE}).encode(),
        *(base64.b64encode(b"x" * before + VALUE + b"y" * 5) for before in range(5)),
        *(base64.urlsafe_b64encode(b"x" * before + VALUE) for before in range(3)),
    ],
)
def test_a_planted_value_is_found_in_any_form(leak: bytes) -> None:
    assert SECRETS.found_in(b"before " + leak + b" after") == {"key"}


def test_what_is_no_leak_is_not_found() -> None:
    assert SECRETS.found_in(VALUE[:-1] + b"  " + VALUE[1:]) == set()
    assert all(len(form) >= 12 for form in forms(b"abc"))


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    project = Project(tmp_path)
    Credentials.ensure(project, "lab", ["localhost"], {"replica-1": "10.0.0.2"})
    return project.environment_state("lab")


def test_every_private_value_of_an_environment_is_looked_for(environment: Path) -> None:
    secrets = Secrets.of(environment, registry=b"registry-password-1")
    expected = {"secrets/api_key", "ssh/id_ed25519", "secrets/ca.key", "secrets/server.key"}
    assert expected | {"registry"} <= secrets.names
    private = {
        str(path.relative_to(environment))
        for path in environment.rglob("*")
        if path.is_file() and b"PRIVATE KEY" in path.read_bytes()
    }
    assert private <= secrets.names
    for name in expected:
        content = (environment / name).read_bytes()
        assert secrets.found_in(b"log: " + content) == {name}
        assert secrets.found_in(json.dumps({"a": content.decode()}).encode()) == {name}
        assert secrets.found_in(base64.b64encode(b"-" + content)) == {name}
    der = load_pem_private_key((environment / "secrets/ca.key").read_bytes(), None).private_bytes(
        Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption()
    )
    assert secrets.found_in(b"memory: " + der) == {"secrets/ca.key"}
    public = [*environment.rglob("*.pem"), *environment.rglob("*.pub")]
    assert len(public) > 3
    assert all(secrets.found_in(path.read_bytes()) == set() for path in public)


def test_a_file_that_holds_a_value_is_named(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "run.log").write_bytes(b"authorization: " + base64.b64encode(VALUE))
    (tmp_path / "logs" / "other.log").write_bytes(b"nothing")
    (tmp_path / "skipped").mkdir()
    (tmp_path / "skipped" / "key").write_bytes(VALUE)
    found = SECRETS.found_below(tmp_path, skip={"skipped"})
    assert found == {tmp_path / "logs" / "run.log": {"key"}}


@pytest.mark.parametrize("where", ["arguments", "environment"])
def test_a_process_that_holds_a_value_is_named(where: str) -> None:
    script = "import sys; print('there', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script]
    variables = dict(os.environ)
    if where == "arguments":
        command.append(VALUE.decode())
    else:
        variables["TOKEN"] = VALUE.hex()
    with (
        ProcessWatch(SECRETS) as watch,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        watch.look()
        process.kill()
    assert {line for line in watch.leaks if f"key in the {where} of python" in line}


def test_a_credential_of_the_user_may_be_in_the_users_own_environment(tmp_path: Path) -> None:
    for number, namespaces in ((1, "100"), (2, "200\t2")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "cmdline").write_bytes(b"program\0")
        (folder / "environ").write_bytes(b"PIP_INDEX_URL=https://user:" + VALUE + b"@host/\0")
        (folder / "comm").write_text(f"program-{number}\n")
        (folder / "status").write_text(f"Name:\tprogram\nNSpid:\t{namespaces}\n")
    watch = ProcessWatch(SECRETS, mine={"key"}, proc=tmp_path)
    watch.look()
    assert watch.leaks == {"key in the environment of program-2"}


def test_another_environments_keys_are_not_taken_for_these(
    environment: Path, tmp_path: Path
) -> None:
    project = Project(tmp_path / "other")
    project.root.mkdir()
    Credentials.ensure(project, "lab", ["localhost"], {"replica-1": "10.0.0.2"})
    assert Secrets.of(environment).found_below(project.root) == {}
