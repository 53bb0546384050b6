"""A whole fleet of its own, beside any that a developer runs: other ports, network and state."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.e2e.own_project import Addresses, own_project
from tests.e2e.secret_scan import ProcessWatch, Secrets
from warmfleet.plan.lock import read_lock
from warmfleet.project import Project
from warmfleet.provider.podman import Podman
from warmfleet.stack.credentials import Credentials

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = "e2e"
UP_LIMIT_S = 900
REGISTRY_PASSWORD = "registry-Canary+password/1"


@dataclass(frozen=True)
class Fleet:
    """Runs the CLI on the project that the test owns."""

    project: Path
    said: list[str] = field(default_factory=list)
    """All output of all commands, for those who look for what must not be in it."""

    @property
    def state(self) -> Path:
        return self.project / ".warmfleet"

    @property
    def variables(self) -> dict[str, str]:
        password = quote(REGISTRY_PASSWORD, safe="")
        path = f"{ROOT / '.venv/bin'}:{ROOT / '.tools/bin'}:{os.environ['PATH']}"
        return {
            **os.environ,
            "PATH": path,
            "WARMFLEET_PROJECT": str(self.project),
            "WARMFLEET_ENVIRONMENT": ENVIRONMENT,
            # Nothing listens there; what is fetched comes from the index that is set up.
            "PIP_EXTRA_INDEX_URL": f"http://user:{password}@127.0.0.1:9/simple",
            "PIP_RETRIES": "0",
        }

    def run(self, *arguments: str, limit_s: float = UP_LIMIT_S) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            arguments,
            cwd=ROOT,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
        self.said.append(done.stdout + done.stderr)
        return done

    def warmfleet(self, *arguments: str, limit_s: float = UP_LIMIT_S) -> Any:
        """Run a command that must succeed; return its JSON."""
        done = self.run("warmfleet", *arguments, "--json", limit_s=limit_s)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run pulumi as its users do: in the project folder, with the variables that we export."""
        exports = self.run("warmfleet", "env").stdout
        script = 'eval "$0" && cd "$1" && shift && exec pulumi "$@"'
        stack = ("-s", ENVIRONMENT, "--color", "never")
        return self.run("bash", "-c", script, exports, str(self.project), *arguments, *stack)

    def inside(self, host: str, *command: str, check: bool = True) -> str:
        """Run a command in a host, past SSH, as somebody at its console would."""
        done = self.run("podman", "exec", self.container(host), *command, limit_s=180)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def root(self, host: str) -> Path:
        """Return where a host's whole file tree is seen from outside."""
        shown = ("podman", "inspect", "--format", "{{.State.Pid}}", self.container(host))
        return Path("/proc", self.run(*shown).stdout.strip(), "root")

    @staticmethod
    def container(host: str) -> str:
        return f"warmfleet-{ENVIRONMENT}-{host}"


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / "stacks"
    return own_project(folder, ENVIRONMENT, Addresses(9443, 2310, "10.89.78."))


@pytest.fixture(scope="session")
def fleet(project: Path) -> Iterator[Fleet]:
    fleet = Fleet(project)
    Podman().remove_network(f"warmfleet-{ENVIRONMENT}")  # with hosts that a killed run left
    planned = fleet.run("warmfleet", "plan", ENVIRONMENT, "--write")
    assert planned.returncode == 0, planned.stderr
    yield fleet
    # The last test takes the fleet down; this only matters when a test before it failed.
    fleet.run("warmfleet", "down", ENVIRONMENT)


@pytest.fixture(scope="session")
def secrets(fleet: Fleet) -> Secrets:
    """All private values of the fleet, made before it is: the first up finds them there."""
    project = Project(fleet.project)
    Credentials.ensure_for(project, read_lock(project.plan_file(ENVIRONMENT)))
    passphrase = Path(project.pulumi_environment()["PULUMI_CONFIG_PASSPHRASE_FILE"]).read_bytes()
    return Secrets.of(
        project.environment_state(ENVIRONMENT),
        passphrase=passphrase,
        registry=REGISTRY_PASSWORD.encode(),
    )


@pytest.fixture(scope="session")
def watch(secrets: Secrets) -> ProcessWatch:
    """Watches the first up; the registry's password is in the user's own environment."""
    return ProcessWatch(secrets, mine={"registry"})


@pytest.fixture(scope="session")
def first_up(fleet: Fleet, watch: ProcessWatch) -> Any:
    with watch:
        return fleet.warmfleet("up", ENVIRONMENT)
