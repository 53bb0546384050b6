import pytest

from warmfleet.errors import StackError
from warmfleet.stack.outputs import FleetOutput

FLEET = {
    "schema_version": 1,
    "environment": "test",
    "kind": "lab",
    "endpoint": "https://127.0.0.1:8443",
    "sites": [],
}


def test_a_fleet_is_read():
    assert FleetOutput.read(FLEET).environment == "test"


@pytest.mark.parametrize(
    ("value", "found"),
    [({**FLEET, "schema_version": 2}, "schema version 2"), ({}, "None"), ([], "list"), (None, "N")],
)
def test_what_is_not_a_fleet_is_refused_with_its_version(value, found):
    with pytest.raises(StackError, match=f"is not readable .*{found}.*run pulumi up again"):
        FleetOutput.read(value)
