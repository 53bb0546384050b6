"""Requests to the gateway, made inside the host."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from testinfra.host import Host

_CLIENT = """
import json, ssl, sys, urllib.request
url, key, body = sys.argv[1:]
context = ssl.create_default_context(cafile="/usr/local/lib/secrets/ca.pem")
request = urllib.request.Request(url, body.encode() or None)
if key:
    request.add_header("Authorization", "Bearer " + key)
try:
    answer = urllib.request.urlopen(request, context=context, timeout=10)
except urllib.error.HTTPError as error:
    answer = error
print(json.dumps([answer.status, answer.read().decode()]))
"""

Ask = Callable[..., tuple[int, Any]]


@pytest.fixture
def ask(host: Host) -> Ask:
    """Send one request; returns status and body (parsed where it is JSON)."""

    def ask(path: str, key: str = "", body: str = "", port: int = 443) -> tuple[int, Any]:
        url = f"https://localhost:{port}{path}"
        command = host.run("python3 -c %s %s %s %s", _CLIENT, url, key, body)
        assert command.rc == 0, command.stderr
        status, text = json.loads(command.stdout)
        return status, json.loads(text) if text.startswith("{") else text

    return ask
