"""Real Ansible runs on this machine: what a person is told of them, and what they leave."""

import json
import logging
from typing import Any

import pytest

from warmfleet.converge.events import TaskStatus
from warmfleet.converge.locks import exclusive
from warmfleet.converge.run import ConvergeResult
from warmfleet.errors import ConvergeError

CANARY = "canary-value-of-a-secret"
TOUCH = """
- name: Write a file
  ansible.builtin.copy:
    content: |
      {{{{ {{'groups': group_names, 'env': warmfleet_environment, 'keys': keys,
          'strategy': lookup('config', 'DEFAULT_STRATEGY')}} | to_json }}}}
    dest: "{folder}/{{{{ inventory_hostname }}}}"
    mode: "0600"
  vars:
    keys: "{{{{ lookup('config', 'host_key_checking', **ssh) }}}}"
    ssh: {{plugin_type: connection, plugin_name: ssh}}
"""
FAIL = f"""
- name: Check the disk
  ansible.builtin.assert:
    that: false
    fail_msg: found 3 GB free, needed 10 GB; set model_store_root
  when: inventory_hostname == 'near-1'
- name: Use a secret
  ansible.builtin.command: "cat /nowhere/{CANARY}"
  no_log: true
"""


@pytest.fixture(scope="module")
def runs(module_bench: Any) -> dict[str, Any]:
    """Run the same tasks twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLOUD_SECRET", CANARY)
        first = module_bench.play(TOUCH.format(folder=module_bench.folder))
    events, stored = list(module_bench.events), module_bench.stored()
    second = module_bench.play(TOUCH.format(folder=module_bench.folder))
    return {"first": first, "events": events, "stored": stored, "second": second}


def test_first_run_names_what_it_changed(runs: dict[str, Any]) -> None:
    first: ConvergeResult = runs["first"]
    assert (first.ok, first.changed) == (2, 2)
    assert sorted(first.changed_tasks) == ["near-1: Write a file", "near-2: Write a file"]
    assert 0 < first.duration_s < 60


def test_second_run_changes_nothing_and_says_so(runs: dict[str, Any]) -> None:
    second: ConvergeResult = runs["second"]
    assert (second.ok, second.changed, second.changed_tasks) == (2, 0, [])
    assert {host.failed for host in second.hosts.values()} == {0}


def test_progress_has_start_and_end_of_each_task(runs: dict[str, Any]) -> None:
    mine = [event for event in runs["events"] if event.host == "near-1"]
    assert [event.status for event in mine] == [TaskStatus.STARTED, TaskStatus.CHANGED]
    assert mine[1].duration_s > 0
    assert str(mine[0]) == "near-1: Write a file"


def test_inventory_reaches_tasks_and_host_keys_are_checked(
    runs: dict[str, Any], module_bench: Any
) -> None:
    """ansible-runner turns the check of host keys off unless told otherwise."""
    assert runs["first"].ok
    seen = json.loads((module_bench.folder / "near-1").read_text())
    strategy = "mitogen_linear"
    assert seen == {"groups": ["near"], "env": "lab", "keys": True, "strategy": strategy}


def test_callers_environment_is_not_kept(runs: dict[str, Any]) -> None:
    assert runs["stored"]
    assert [name for name, data in runs["stored"].items() if CANARY.encode() in data] == []


def test_what_runs_leave_does_not_pile_up(runs: dict[str, Any], module_bench: Any) -> None:
    assert set(module_bench.stored()) == set(runs["stored"])


def test_failures_are_one_line_and_what_is_hidden_stays_hidden(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger("warmfleet").setLevel(logging.DEBUG)
    with caplog.at_level(logging.DEBUG), pytest.raises(ConvergeError) as caught:
        bench.play(FAIL)
    assert str(caught.value) == (
        "host near-1: Check the disk: found 3 GB free, needed 10 GB; set model_store_root; "
        "host near-2: Use a secret: output hidden (no_log)"
    )
    assert "Check the disk" in caplog.text
    assert CANARY not in caplog.text
    stored = {name: data for name, data in bench.stored().items() if CANARY.encode() in data}
    assert stored == {}


def test_only_one_run_of_an_environment_at_a_time(bench: Any) -> None:
    folder = bench.state / "runner"
    folder.mkdir()
    with exclusive(folder / ".lock"), pytest.raises(ConvergeError, match="another converge of lab"):
        bench.play("- ansible.builtin.ping:\n")
