"""The host under test: each scenario has one of its own, named after its role."""

import os
import subprocess
from collections.abc import Callable, Iterator

import pytest
import testinfra
from testinfra.host import Host


@pytest.fixture(scope="session")
def container() -> str:
    """Name of the container that the scenario converged."""
    return "molecule-" + os.environ["MOLECULE_SCENARIO_NAME"]


@pytest.fixture(scope="session")
def host(container: str) -> Host:
    return testinfra.get_host(f"podman://{container}")


@pytest.fixture(scope="session")
def exposure(host: Host) -> Callable[[str], float]:
    """What ``systemd-analyze security`` says of a loaded unit, from 0 to 10; 2.0 is the limit."""

    def exposure(unit: str) -> float:
        report = host.check_output("systemd-analyze security --no-pager %s", unit)
        return float(report.splitlines()[-1].split(": ")[1].split()[0])

    return exposure


@pytest.fixture(autouse=True)
def _journal_on_failure(request: pytest.FixtureRequest, container: str) -> Iterator[None]:
    failed_before = request.session.testsfailed
    yield
    if request.session.testsfailed > failed_before:
        units = [f"--unit={unit}" for unit in ("warmfleet*", "nginx*", "systemd-journald")]
        command = ["podman", "exec", container, "journalctl", "--no-pager", "--lines=40", *units]
        print(subprocess.run(command, capture_output=True, text=True, check=False).stdout)  # noqa: T201
