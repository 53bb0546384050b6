import json

import pytest

from warmfleet.stack.events import EventLog

URN = "urn:pulumi:test::warmfleet::warmfleet:index:InferenceSite$warmfleet:index:LabHost::gw-1"
STACK = "urn:pulumi:test::warmfleet::pulumi:pulumi:Stack::warmfleet-test"


@pytest.fixture
def lines():
    return []


@pytest.fixture
def log(lines):
    return EventLog(lines.append)


def step(op, *, custom=True, **event):
    metadata = {"op": op, "urn": URN, "type": "warmfleet:index:LabHost", "new": {"custom": custom}}
    return {"metadata": metadata, **event}


def send(log, **event):
    log.read(json.dumps(event))


def diagnose(log, message, urn=URN, severity="error"):
    send(log, diagnosticEvent={"urn": urn, "message": message, "severity": severity})


def test_a_step_that_does_something_is_told(log, lines):
    send(log, resourcePreEvent=step("create"))
    send(log, resOutputsEvent=step("create"))
    assert lines[0] == "gw-1: creating"
    assert lines[1].startswith("gw-1: done in ")


@pytest.mark.parametrize("event", [step("same"), step("create", custom=False)])
def test_what_does_nothing_is_not_told(log, lines, event):
    send(log, resourcePreEvent=event)
    send(log, resOutputsEvent=event)
    assert lines == []


def test_changes_are_counted(log):
    send(log, summaryEvent={"resourceChanges": {"create": 2, "same": 6}})
    assert log.changes == {"create": 2, "update": 0, "replace": 0, "delete": 0, "same": 6}


def test_what_is_not_an_event_is_ignored(log, lines):
    for line in ("", "not JSON", "[]", '"text"', '{"preludeEvent": {}}'):
        log.read(line)
    assert (lines, log.problem()) == ([], None)


def test_a_failed_check_is_told_without_the_engines_words(log):
    diagnose(
        log,
        "warmfleet:index:LabHost resource 'gw-1': property published_ports value "
        "{map[22:{2210} 443:{8443}]} has a problem: port 8443 on 127.0.0.1 is taken\n",
    )
    diagnose(log, "Resource monitor has terminated, shutting down", urn="")
    assert log.problem() == "gw-1: published_ports: port 8443 on 127.0.0.1 is taken"


def test_one_cause_for_several_resources_is_told_once(log):
    diagnose(log, "no image")
    diagnose(log, "no image", urn=URN.replace("gw-1", "replica-1"))
    assert log.problem() == "gw-1, replica-1: no image"


def test_further_causes_are_counted(log):
    diagnose(log, "first\nline")
    diagnose(log, "second")
    assert log.problem() == "gw-1: first line (and 1 more)"


def test_an_error_of_the_program_stands_alone(log):
    diagnose(log, "plan is stale", urn=STACK)
    assert log.problem() == "plan is stale"


def test_debug_messages_are_no_problem(log):
    diagnose(log, "registering", severity="debug")
    assert log.problem() is None
