"""The inference services of a host: restart them and see each warm again."""

import re
import ssl
import time

from warmfleet.deploy.progress import Stage
from warmfleet.errors import HostUnreachableError, OperationError
from warmfleet.inventory.service import ADMIN_PORT
from warmfleet.operate.remote import run_remote
from warmfleet.operate.secrecy import masking
from warmfleet.operate.target import Target
from warmfleet.telemetry.tls_stream import client_context
from warmfleet.telemetry.tunnel import Tunnel

__all__ = ["restart_service"]

_MARGIN_S = 30.0
_LOOK_S = 2.0
_JOURNAL_LINES = 12
_COMMAND_LIMIT_S = 20.0
_REASON = re.compile(r"level=ERROR .*?\breason=(['\"]?)(?P<reason>.*)\1$")


def restart_service(target: Target, tunnel: Tunnel, model: str, stage: Stage) -> float:
    """Restart the service of one model; return the seconds until it was warm.

    The unit itself says when: it counts as started only when its warm-up is through, and systemd
    ends a start that takes longer than the plan's budget.

    Raises:
        OperationError: it did not get warm; with the reason, after the last lines of its journal.
        HostUnreachableError: the connection broke.
    """
    unit = f"warmfleet-inference@{model}.service"
    began = time.monotonic()
    looked = began
    tls = client_context(target.credentials)
    port = ADMIN_PORT + [one.name for one in target.plan.models].index(model)

    def look() -> None:
        nonlocal looked
        if time.monotonic() - looked >= _LOOK_S:
            state = _state(target, tunnel, tls, port)
            looked = time.monotonic()
            stage.update(f"{model} is {state}, after {looked - began:.0f} s", passing=True)

    timeouts = target.plan.timeouts
    done = run_remote(
        tunnel,
        target.host,
        ["systemctl", "restart", unit],
        limit_s=timeouts.systemd_stop_s + timeouts.systemd_start_s + _MARGIN_S,
        on_wait=look,
    )
    if done.status == 0:
        return time.monotonic() - began
    mask = masking(target.credentials)
    lines = [mask(line) for line in _journal(target, tunnel, unit)]
    for line in lines:
        stage.update(line)
    found = [match["reason"] for line in lines if (match := _REASON.search(line))]
    said = mask(done.stdout.strip().splitlines()[0] if done.stdout else "")
    reason = found[-1] if found else lines[-1] if lines else said or "no reason given"
    msg = (
        f"{model} on {target.host.name} did not get warm: {reason}; see: "
        f"warmfleet logs {target.environment} {target.host.name}"
    )
    raise OperationError(msg)


def _state(target: Target, tunnel: Tunnel, tls: ssl.SSLContext, port: int) -> str:
    try:
        _, answer = tunnel.get_json(target.host.private_address, port, "/readyz", tls)
    except HostUnreachableError:
        return "starting"
    state = answer.get("state") if isinstance(answer, dict) else None
    return str(state or "starting")


def _journal(target: Target, tunnel: Tunnel, unit: str) -> list[str]:
    command = ["journalctl", "--no-pager", "--quiet", "--output=cat", f"--unit={unit}"]
    command.append(f"--lines={_JOURNAL_LINES}")
    done = run_remote(tunnel, target.host, command, limit_s=_COMMAND_LIMIT_S)
    return [line for line in done.stdout.splitlines() if line.strip()]
