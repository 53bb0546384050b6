"""A small fleet of its own, and the commands that people give it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.own_project import Addresses, own_project
from warmfleet.plan.lock import plan_environment, write_lock
from warmfleet.project import Project

__all__ = ["ENVIRONMENT", "MAKE_UP", "STACK", "SUBNET_PREFIX", "Fleet", "container", "podman"]

ENVIRONMENT = "t-faults"
SUBNET_PREFIX = "10.89.95."
ROOT = Path(__file__).resolve().parents[2]
STACK = (sys.executable, str(Path(__file__).with_name("stack_command.py")))
"""Program that brings the stack alone up, or destroys it; what Ansible does takes minutes."""
MAKE_UP = ("make", "-C", str(ROOT), "up")

_ADDRESSES = Addresses(23849, 23841, SUBNET_PREFIX)


class Fleet:
    """The project and its commands; ``folder`` gets all that they write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("tmp", "home"):
            (folder / name).mkdir()
        self.project = Project(own_project(folder / "stacks", ENVIRONMENT, _ADDRESSES))
        write_lock(plan_environment(self.project, ENVIRONMENT), self.project.plan_file(ENVIRONMENT))

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment of its commands: whatever they leave is left in the fleet's folder."""
        path = f"{Path(sys.prefix) / 'bin'}:{ROOT / '.tools/bin'}:{os.environ['PATH']}"
        return {
            **os.environ,
            "PATH": path,
            "PYTHONPATH": str(ROOT),
            "TMPDIR": str(self.folder / "tmp"),
            "HOME": str(self.folder / "home"),
            "WARMFLEET_PROJECT": str(self.project.root),
            "WARMFLEET_ENVIRONMENT": ENVIRONMENT,
        }

    def run(self, *command: str, limit_s: float = 900) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            command,
            env=dict(self.variables),
            cwd=self.project.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )

    def inside(self, host: str, script: str) -> str:
        """Run a shell script in a host, past SSH."""
        return podman("exec", container(host), "sh", "-euc", script)

    def lose(self, *hosts: str) -> None:
        """Remove hosts behind the stack's back."""
        for host in hosts:
            podman("rm", "--force", "--ignore", "--time", "0", container(host))


def container(host: str) -> str:
    """Return the name of a host's container."""
    return f"warmfleet-{ENVIRONMENT}-{host}"


def podman(*arguments: str) -> str:
    """Run podman; return what it printed."""
    done = subprocess.run(
        ["podman", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
