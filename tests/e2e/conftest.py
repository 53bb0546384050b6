"""A whole fleet of its own, beside any that a developer runs: other ports, network and state."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.own_project import Addresses, own_project
from warmfleet.provider.podman import Podman

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = "e2e"
UP_LIMIT_S = 900


@dataclass(frozen=True)
class Fleet:
    """Runs the CLI on the project that the test owns."""

    project: Path

    @property
    def variables(self) -> dict[str, str]:
        path = f"{ROOT / '.venv/bin'}:{ROOT / '.tools/bin'}:{os.environ['PATH']}"
        return {
            **os.environ,
            "PATH": path,
            "WARMFLEET_PROJECT": str(self.project),
            "WARMFLEET_ENVIRONMENT": ENVIRONMENT,
        }

    def run(self, *arguments: str, limit_s: float = UP_LIMIT_S) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments,
            cwd=ROOT,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )

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
def first_up(fleet: Fleet) -> Any:
    return fleet.warmfleet("up", ENVIRONMENT)
