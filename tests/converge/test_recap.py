"""What a run came to, in one line."""

import pytest

from warmfleet.converge.events import TaskEvent, TaskStatus
from warmfleet.converge.recap import HostRecap, Recap
from warmfleet.errors import ConvergeError, HostUnreachableError
from warmfleet.stack.outputs import (
    BandwidthOutput,
    FleetOutput,
    HostOutput,
    HostRole,
    SiteOutput,
    SshOutput,
)

CHANGED_KEY = """Failed to connect to the host via ssh: @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
Host key verification failed."""


@pytest.fixture
def fleet() -> FleetOutput:
    hosts = [
        HostOutput(
            name=f"replica-{number}",
            role=HostRole.REPLICA,
            ssh=SshOutput(
                address="192.0.2.1", port=2210 + number, user="ops", host_key="ssh-ed25519 AAAA"
            ),
            private_address="192.0.2.11",
        )
        for number in (1, 2)
    ]
    line = BandwidthOutput(committed_mbps=1, burst_mbps=2, carriers=["bgp"])
    site = SiteOutput(name="gz", region="guangzhou", bandwidth=line, hosts=hosts)
    url = "https://192.0.2.1:8443"
    return FleetOutput(environment="lab", kind="lab", endpoint=url, sites=[site])


def failed(host: str, message: str, task: str = "Check") -> TaskEvent:
    return TaskEvent(host, "model_store", task, TaskStatus.FAILED, 1.0, message)


def unreachable(host: str, message: str) -> TaskEvent:
    return TaskEvent(host, "", "Gather", TaskStatus.UNREACHABLE, 1.0, message)


def test_all_well_is_no_error(fleet: FleetOutput) -> None:
    recap = Recap()
    recap.add(TaskEvent("replica-1", "", "Ping", TaskStatus.CHANGED))
    recap.add_stats({"ok": {"replica-1": 3}, "changed": {"replica-1": 1}, "failures": {}})
    assert recap.error(fleet, "lab") is None
    assert recap.changed_tasks == ["replica-1: Ping"]
    assert recap.hosts == {"replica-1": HostRecap(ok=3, changed=1, failed=0, skipped=0)}


def test_one_line_a_host(fleet: FleetOutput) -> None:
    recap = Recap()
    recap.add(failed("replica-1", "disk full"))
    recap.add(failed("replica-2", "no such disk"))
    recap.add_stats({"failures": {"replica-1": 1, "replica-2": 1}})
    error = recap.error(fleet, "lab")
    assert type(error) is ConvergeError
    assert str(error) == (
        "host replica-1: model_store: Check: disk full; "
        "host replica-2: model_store: Check: no such disk"
    )


def test_the_task_that_ended_the_host_is_told_and_not_one_that_was_rescued(
    fleet: FleetOutput,
) -> None:
    recap = Recap()
    recap.add(failed("replica-1", "handled", "Rescued"))
    recap.add(failed("replica-1", "fatal", "Last"))
    recap.add(failed("replica-2", "handled", "Rescued"))
    recap.add_stats({"failures": {"replica-1": 1}, "rescued": {"replica-1": 1, "replica-2": 1}})
    assert str(recap.error(fleet, "lab")) == "host replica-1: model_store: Last: fatal"


def test_failure_of_a_run_that_was_cut_short_is_told(fleet: FleetOutput) -> None:
    recap = Recap()  # no stats: Ansible was killed
    recap.add(failed("replica-1", "disk full"))
    assert "disk full" in str(recap.error(fleet, "lab"))


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (
            "Failed to connect to the host via ssh: ssh: connect to host 192.0.2.1 port 2211: "
            "Connection refused",
            "connect to host 192.0.2.1 port 2211: Connection refused",
        ),
        (
            "Task failed: EOF on stream; last 100 lines received: ssh: connect to host 192.0.2.1 "
            "port 2211: Connection refused",
            "connect to host 192.0.2.1 port 2211: Connection refused",
        ),
        (CHANGED_KEY, "it shows another host key than the one that is pinned in the stack"),
        (
            "Task failed: Host key checking is enabled, and SSH reported an unrecognized or "
            "mismatching host key.",
            "it shows another host key than the one that is pinned in the stack",
        ),
        (
            "Task failed: Mitogen was disconnected from the remote environment while a call was "
            "in-progress. If you feel this is in error, please file a bug.",
            "the connection broke, or the host fell silent, in the middle of a task",
        ),
        (
            "Task failed: error occurred on host warm: SSH authentication is incorrect",
            "error occurred on host warm: SSH authentication is incorrect",
        ),
        ("Data could not be sent to remote host", "Data could not be sent to remote host"),
    ],
)
def test_unreachable_host_has_address_cause_and_what_to_do(
    fleet: FleetOutput, said: str, cause: str
) -> None:
    recap = Recap()
    recap.add(unreachable("replica-1", said))
    error = recap.error(fleet, "lab")
    assert type(error) is HostUnreachableError
    assert str(error) == (
        f"host replica-1 (ops@192.0.2.1:2211) is not reachable: {cause}; "
        "check the host, then run warmfleet up lab, which refreshes the stack"
    )


def test_unreachable_comes_before_what_failed_elsewhere(fleet: FleetOutput) -> None:
    recap = Recap()
    recap.add(failed("replica-2", "disk full"))
    recap.add(unreachable("replica-1", "gone"))
    recap.add_stats({"failures": {"replica-2": 1}, "dark": {"replica-1": 1}})
    error = recap.error(fleet, "lab")
    assert type(error) is HostUnreachableError
    assert "host replica-2: model_store: Check: disk full" in str(error)
