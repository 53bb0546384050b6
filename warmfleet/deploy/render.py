"""What a person sees of a fleet on a terminal."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warmfleet.deploy.first_request import FirstRequest
from warmfleet.deploy.status import FleetStatus
from warmfleet.deploy.up import UpResult
from warmfleet.telemetry.scrape import ReplicaStatus

__all__ = ["drained_line", "render_status", "render_up"]

_MIB = 1024 * 1024


def render_up(result: UpResult, console: Console) -> None:
    """Print the answer, the ledger, what changed and how to call the endpoint."""
    render_status(result.status, console, result.first_requests, result.first_request_goal)
    console.print(f"\n[bold]Q[/] {escape(result.question)}")
    console.print(f"[bold]A[/] {escape(result.answer.strip())}")
    console.print(
        f"  streamed through the gateway: first token {result.answer_ttft_s:.2f} s,"
        f" whole answer {result.answer_total_s:.2f} s"
    )
    resources = ", ".join(f"{n} {kind}" for kind, n in result.resources.items() if n)
    stages = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in result.stages.items())
    console.print(
        f"\nResources: {resources or 'none'}. Tasks: {result.tasks['changed']} changed of"
        f" {result.tasks['ok']}.\nTime: {stages}.\nLog: {result.log_file}",
        soft_wrap=True,
    )
    console.print(_example(result.status), soft_wrap=True, highlight=False, markup=False)


def render_status(
    status: FleetStatus,
    console: Console,
    first_requests: list[FirstRequest] | None = None,
    goal: float | None = None,
) -> None:
    """Print hosts, replicas and the cold-start ledger of each."""
    console.print(f"[bold]Endpoint[/] {status.endpoint}/v1", highlight=False, soft_wrap=True)
    console.print(f"[bold]API key[/]  {status.api_key_file}", highlight=False, soft_wrap=True)
    console.print(f"[bold]CA file[/]  {status.ca_file}\n", highlight=False, soft_wrap=True)
    console.print(_hosts(status))
    for host in status.drained:
        console.print(f"{drained_line(status.environment, host)}", style="yellow", soft_wrap=True)
    ledger = _ledger(status.replicas, first_requests or [], goal)
    if ledger is not None:
        console.print(ledger)


def drained_line(environment: str, host: str) -> str:
    """Return what everybody should know of a drained host."""
    return f"{host} is drained: it gets no requests until `warmfleet undrain {environment} {host}`"


def _hosts(status: FleetStatus) -> Table:
    table = Table("Host", "Role", "Model", "State", "Revision", "SSH", title="Fleet")
    replicas = {replica.host: replica for replica in status.replicas}
    for host in status.hosts:
        replica = replicas.get(host.name)
        state = "" if replica is None else replica.state
        if replica is not None and replica.drained:
            state = f"drained ({state})"
        if replica is not None and replica.error:
            state = f"{state}: {replica.error}"
        table.add_row(
            host.name,
            host.role,
            "" if replica is None else replica.model,
            f"[{_colour(state)}]{escape(state)}[/]" if state else "",
            "" if replica is None else replica.revision or "",
            host.ssh,
        )
    return table


def _colour(state: str) -> str:
    if state.startswith("drained"):
        return "yellow"
    return "green" if state == "ready" else "red"


def _ledger(
    replicas: list[ReplicaStatus], first_requests: list[FirstRequest], goal: float | None
) -> Table | None:
    """Return phases as rows and replicas as columns, since starts are compared phase by phase."""
    started = [replica for replica in replicas if replica.coldstart is not None]
    if not started:
        return None
    table = Table("Phase", title="Cold start (seconds)")
    cells: dict[str, dict[str, str]] = {}
    for replica in started:
        table.add_column(replica.host, justify="right")
        if replica.coldstart is None:
            continue
        for phase in replica.coldstart.phases:
            row = cells.setdefault(phase.label, {})
            row[replica.host] = f"{phase.duration_s:.3f}{_note(phase.detail)}"
    for label, row in cells.items():
        table.add_row(label, *(row.get(replica.host, "") for replica in started))
    table.add_section()
    totals = [f"{r.coldstart.total_s:.3f}" if r.coldstart else "" for r in started]
    table.add_row("total", *totals, style="bold")
    if first_requests:
        measured = {first.replica: first for first in first_requests}
        note = f" (goal {goal:.1f}x)" if goal else ""
        table.add_row(
            f"first external request / steady median{note}",
            *(_first(measured.get(replica.host), goal) for replica in started),
        )
    return table


def _note(detail: dict[str, object]) -> str:
    """Weights say how much was read and how fast, in the unit that disks are compared in."""
    size, rate = detail.get("bytes"), detail.get("gb_per_s")
    if not isinstance(size, int) or not isinstance(rate, int | float):
        return ""
    return f" ({size / _MIB:.0f} MiB, {rate:.2f} GB/s)"


def _first(first: FirstRequest | None, goal: float | None) -> str:
    if first is None:
        return "not started now"
    text = f"{first.first_s:.2f} / {first.steady_median_s:.2f} = {first.ratio:.2f}x"
    return f"[yellow]{text}[/]" if goal and first.ratio > goal else f"[green]{text}[/]"


def _example(status: FleetStatus) -> str:
    return (
        f"\ncurl --cacert {status.ca_file} {status.endpoint}/v1/chat/completions \\\n"
        f'  -H "Authorization: Bearer $(cat {status.api_key_file})" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f'  -d \'{{"model": "{status.replicas[0].model}",'
        ' "messages": [{"role": "user", "content": "Hello"}]}\''
    )
