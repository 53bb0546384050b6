"""What a person sees of a fleet on a terminal."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warmfleet.deploy.first_request import FirstRequest
from warmfleet.deploy.ledger_view import ledger_table
from warmfleet.deploy.status import FleetStatus
from warmfleet.deploy.up import UpResult

__all__ = ["drained_line", "render_status", "render_up"]


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
    ledger = ledger_table(status, first_requests or [], goal)
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


def _example(status: FleetStatus) -> str:
    return (
        f"\ncurl --cacert {status.ca_file} {status.endpoint}/v1/chat/completions \\\n"
        f'  -H "Authorization: Bearer $(cat {status.api_key_file})" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f'  -d \'{{"model": "{status.replicas[0].model}",'
        ' "messages": [{"role": "user", "content": "Hello"}]}\''
    )
