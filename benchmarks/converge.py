"""How long does site.yml take on fresh hosts and on finished ones, against Ansible's defaults?

    python benchmarks/converge.py [--json] [--quick]

Three hosts of the benchmark's own environment, made anew for each set of settings: the same
playbook and inventory as `warmfleet converge` plays them (our ansible.cfg, tasks run by Mitogen),
with our ansible.cfg alone as bare `ansible-playbook` has it, and with Ansible's defaults (told no
more than where plugins and roles are). The quick form plays one role over hosts on which there is
nothing left to do.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from _figures import Figure, command, figure, progress

from tests.e2e.own_project import Addresses, own_project
from warmfleet.content import content_root
from warmfleet.converge.compose import compose_inventory
from warmfleet.converge.strategy import strategy_variables
from warmfleet.plan.lock import plan_environment, write_lock
from warmfleet.project import Project
from warmfleet.provider.podman import Podman
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.workspace import Workspace

_ENVIRONMENT = "bench"
_ADDRESSES = Addresses(10443, 2410, "10.89.79.")
_OURS, _DEFAULTS, _PLAIN = "ours", "Ansible's defaults", "our ansible.cfg alone"
_GOAL = 2.0
_LIMITS_S = (300, 5400)
_RUN_S = 900
_CHANGED = re.compile(r"changed=(\d+)")
_ONE_ROLE = """
- hosts: all
  become: true
  gather_facts: true
  gather_subset: [min]
  roles: [host_baseline]
"""


@dataclass(frozen=True)
class _Hosts:
    """Hosts of the environment, and the inventory that Ansible reads of them."""

    inventory: Path

    def play(self, playbook: Path, variables: dict[str, str]) -> float:
        """Return the seconds of one run.

        Raises:
            RuntimeError: it failed; with Ansible's own words.
        """
        began = time.monotonic()
        done = subprocess.run(
            ["ansible-playbook", "-i", str(self.inventory), str(playbook)],
            env=os.environ | variables,
            cwd=content_root(),
            capture_output=True,
            text=True,
            check=False,
            timeout=_RUN_S,
        )
        seconds = time.monotonic() - began
        if done.returncode != 0:
            said = (done.stderr + done.stdout).splitlines()
            lines = [line for line in said if "ERR" in line.upper()]
            msg = f"ansible-playbook ended with {done.returncode}: {' '.join(lines[:2])[:400]}"
            raise RuntimeError(msg)
        changed = sum(map(int, _CHANGED.findall(done.stdout)))
        progress(f"  {seconds:.0f} s, {changed} changed")
        return seconds


def main() -> int:
    """Measure and print."""
    return command(
        _measure,
        name="converge",
        description="First and no-op site.yml against Ansible's defaults.",
        limits_s=_LIMITS_S,
    )


def _measure(quick: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="warmfleet-bench-") as folder:
        root = Path(folder)
        project = Project(own_project(root / "stacks", _ENVIRONMENT, _ADDRESSES))
        plan = plan_environment(project, _ENVIRONMENT)
        write_lock(plan, project.plan_file(_ENVIRONMENT))
        Credentials.ensure_for(project, plan)
        plain = _plain_settings(project)
        settings = {
            _OURS: plain | strategy_variables(),
            _DEFAULTS: _default_settings(project, root),
            _PLAIN: plain,
        }
        return _quick(project, root, settings) if quick else _long(project, settings)


def _quick(project: Project, root: Path, settings: dict[str, dict[str, str]]) -> list[Figure]:
    playbook = root / "one_role.yml"
    playbook.write_text(_ONE_ROLE)
    with _fresh_hosts(project, root) as hosts:
        progress("first run, not measured")
        hosts.play(playbook, settings[_OURS])
        seconds: dict[str, list[float]] = {}
        for name, variables in settings.items():
            progress(f"no-op: {name}")
            seconds[name] = [hosts.play(playbook, variables)]
    return _figures("noop_one_role", seconds)


def _long(project: Project, settings: dict[str, dict[str, str]], rounds: int = 2) -> list[Figure]:
    playbook = content_root() / "roles" / "site.yml"
    first: dict[str, list[float]] = {}
    again: dict[str, list[float]] = {}
    for number in range(rounds):
        for name, variables in settings.items():
            progress(f"round {number + 1} of {rounds}: {name}")
            with _fresh_hosts(project, project.root) as hosts:
                took = hosts.play(playbook, variables)
                nothing = [hosts.play(playbook, variables) for _ in range(2)]
            first.setdefault(name, []).append(took)
            again.setdefault(name, []).extend(nothing)
    return [*_figures("first", first), *_figures("noop", again)]


@contextmanager
def _fresh_hosts(project: Project, root: Path) -> Iterator[_Hosts]:
    workspace = Workspace(project, _ENVIRONMENT)
    Podman().remove_network(f"warmfleet-{_ENVIRONMENT}")  # with hosts that a killed run left
    progress("making hosts")
    try:
        workspace.up(lambda _line: None)
        composed = root / "composed.json"
        composed.write_text(
            json.dumps(compose_inventory(project, _ENVIRONMENT, progress).inventory)
        )
        source = root / "bench.warmfleet.yml"
        source.write_text(json.dumps({"plugin": "warmfleet", "composed": str(composed)}))
        yield _Hosts(source)
    finally:
        workspace.destroy(lambda _line: None)


def _plain_settings(project: Project) -> dict[str, str]:
    return _variables(project) | {"ANSIBLE_CONFIG": str(content_root() / "ansible.cfg")}


def _default_settings(project: Project, root: Path) -> dict[str, str]:
    file, roles = root / "defaults.cfg", content_root() / "roles"
    file.write_text(
        f"[defaults]\nroles_path = {roles}\ninventory_plugins = {roles}/inventory_plugins\n"
        f"lookup_plugins = {roles}/lookup_plugins\n[inventory]\nenable_plugins = warmfleet\n"
    )
    return _variables(project) | {"ANSIBLE_CONFIG": str(file)}


def _variables(project: Project) -> dict[str, str]:
    programs = Path(sys.executable).parent
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "ANSIBLE_NOCOLOR": "1",
        "WARMFLEET_PROJECT": str(project.root),
        "WARMFLEET_ENVIRONMENT": _ENVIRONMENT,
    }


def _figures(name: str, seconds: dict[str, list[float]]) -> list[Figure]:
    figures = []
    for peer, others in seconds.items():
        if peer == _OURS:
            figures.append(figure(f"{name}_s", others, "s", "lower"))
            continue
        ratios = [their / our for their, our in zip(others, seconds[_OURS], strict=False)]
        short = "defaults" if peer == _DEFAULTS else "plain"
        goal = _GOAL if peer == _DEFAULTS else 1.0
        figures.append(figure(f"{name}_{short}_s", others, "s", "lower"))
        figures.append(figure(f"{name}_speed_over_{short}", ratios, "x", "higher", goal=goal))
    return figures


if __name__ == "__main__":
    sys.exit(main())
