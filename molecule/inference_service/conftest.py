"""Requests to a replica's admin port, made inside the host as its gateway makes them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from testinfra.host import Host

_CLIENT = """
import json, ssl, sys, urllib.request
fleet = "/usr/local/lib/secrets/fleet"
context = ssl.create_default_context(cafile=fleet + "/ca.pem")
context.load_cert_chain(fleet + "/client.pem", fleet + "/client.key")
try:
    answer = urllib.request.urlopen("https://127.0.0.1:9100" + sys.argv[1], context=context)
except urllib.error.HTTPError as error:
    answer = error
print(json.dumps([answer.status, json.load(answer)]))
"""

Admin = Callable[[str], tuple[int, dict[str, Any]]]


@pytest.fixture
def admin(host: Host) -> Admin:
    """Ask the admin port; returns status and body."""

    def ask(path: str) -> tuple[int, dict[str, Any]]:
        status, body = json.loads(host.check_output("python3 -c %s %s", _CLIENT, path))
        return status, body

    return ask
