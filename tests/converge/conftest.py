"""A project on disk, and playbooks that run on this machine without SSH."""

import hashlib
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest

from warmfleet.converge.compose import Composed
from warmfleet.converge.events import TaskEvent
from warmfleet.converge.run import ConvergeResult, run_playbook
from warmfleet.project import Project
from warmfleet.stack.outputs import BandwidthOutput, FleetOutput, HostOutput, SiteOutput, SshOutput

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLE"
LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
HOSTS: dict[str, dict[str, Any]] = {
    "near-1": LOCAL,
    "near-2": LOCAL,
    "far": {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_user": "ops"},
}
"""Two hosts that are this machine, and one that is reached over SSH at a closed port."""


class Bench:
    """Runs tasks; what they report ends in ``events``."""

    def __init__(self, folder: Path) -> None:
        (folder / "Pulumi.yaml").touch()
        self.folder = folder
        self.project = Project(folder)
        self.composed = composed()
        self.events: list[TaskEvent] = []

    @property
    def state(self) -> Path:
        return self.project.environment_state("lab")

    def play(self, tasks: str, hosts: str = "near", *options: str) -> ConvergeResult:
        playbook = self.folder / "site.yml"
        head = f"- hosts: {hosts}\n  gather_facts: false\n  tasks:\n"
        playbook.write_text(head + textwrap.indent(textwrap.dedent(tasks), "    "))
        return run_playbook(
            playbook,
            self.composed,
            self.project,
            "lab",
            options=list(options),
            limit=None,
            on_event=self.events.append,
        )

    def stored(self) -> dict[str, bytes]:
        """Return all files of the environment's private state."""
        return {
            str(path.relative_to(self.state)): path.read_bytes()
            for path in self.state.rglob("*")
            if path.is_file()
        }


def composed() -> Composed:
    hosts = [
        HostOutput(
            name=name,
            role="replica",
            ssh=SshOutput(address="127.0.0.1", port=1, user="ops", host_key=HOST_KEY),
            private_address="192.0.2.11",
        )
        for name in HOSTS
    ]
    line = BandwidthOutput(committed_mbps=1, burst_mbps=2, carriers=["bgp"])
    site = SiteOutput(name="gz", region="guangzhou", bandwidth=line, hosts=hosts)
    url = "https://127.0.0.1:8443"
    return Composed(
        fleet=FleetOutput(environment="lab", kind="lab", endpoint=url, sites=[site]),
        inventory={
            "_meta": {"hostvars": HOSTS},
            "all": {"vars": {"warmfleet_environment": "lab"}, "children": ["near", "other"]},
            "near": {"hosts": ["near-1", "near-2"]},
            "other": {"hosts": ["far"]},
        },
        limit_s=30,
    )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def module_bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Like ``bench``, for several tests that look at one run: each run takes seconds."""
    return Bench(tmp_path_factory.mktemp("converge"))


class Shelf:
    """A folder of wheels in place of a package index; pip itself is the real one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, files: dict[str, bytes]) -> str:
        """Put ``name`` 1.0 on the shelf; return the sha256 of its wheel."""
        info = f"{name}-1.0.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode()
        wheel = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        path = self.folder / f"{name}-1.0-py3-none-any.whl"
        content = files | {f"{info}/METADATA": metadata, f"{info}/WHEEL": wheel}
        with zipfile.ZipFile(path, "w") as archive:
            for entry, data in content.items():
                archive.writestr(entry, data)
            archive.writestr(f"{info}/RECORD", "".join(f"{entry},,\n" for entry in content))
        return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return Shelf(folder)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "Pulumi.yaml").touch()
    return Project(tmp_path)
