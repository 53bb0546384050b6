"""A plan as tables for people."""

import difflib

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warmfleet.plan.models import Decision, FleetPlan

__all__ = ["decisions_of", "print_explanations", "print_plan"]


def print_plan(console: Console, plan: FleetPlan) -> None:
    """Print hosts, timeouts, and every decision with its reason."""
    title = f"{plan.environment}: {plan.kind}, https://{plan.endpoint.address}:{plan.endpoint.port}"
    hosts = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in ("host", "site", "role", "CPUs", "memory", "address"):
        hosts.add_column(column, justify="right" if column in {"CPUs", "memory"} else "left")
    for site in plan.sites:
        for host in site.hosts:
            memory = f"{host.memory_mb} MB"
            hosts.add_row(
                host.name, site.name, host.role, f"{host.cpus:g}", memory, host.private_address
            )
    console.print(hosts)
    console.print()
    decisions = Table(box=None, pad_edge=False)
    decisions.add_column("decision", no_wrap=True)
    decisions.add_column("value", max_width=28)
    decisions.add_column("because")
    for decision in plan.decisions:
        decisions.add_row(escape(decision.field), _value(decision), escape(decision.reason))
    console.print(decisions)


def print_explanations(console: Console, decisions: list[Decision]) -> None:
    """Print decisions with their inputs and sources."""
    for decision in decisions:
        console.print(f"[bold]{escape(decision.field)}[/bold] = {_value(decision)}")
        console.print(f"  because  {escape(decision.reason)}")
        for name, value in decision.inputs.items():
            console.print(f"  input    {escape(name)} = {escape(str(value))}")
        if decision.source:
            console.print(f"  source   {escape(decision.source)}")


def decisions_of(plan: FleetPlan, field: str) -> list[Decision]:
    """Return the decisions whose field is ``field``, lies in it, or ends with it.

    Raises:
        click.UsageError: none; the nearest field is named.
    """
    found = [
        decision
        for decision in plan.decisions
        if decision.field == field or decision.field.startswith((f"{field}.", f"{field}["))
    ]
    found = found or [item for item in plan.decisions if item.field.endswith(f".{field}")]
    if found:
        return found
    fields = [decision.field for decision in plan.decisions]
    names = {name.rpartition(".")[2]: name for name in fields} | {name: name for name in fields}
    close = difflib.get_close_matches(field, names, n=1, cutoff=0.5)
    hint = f"did you mean {names[close[0]]!r}?" if close else f"known: {', '.join(fields)}"
    msg = f"--explain: no decision about {field!r}; {hint}"
    raise click.UsageError(msg, click.get_current_context(silent=True))


def _value(decision: Decision) -> str:
    if isinstance(decision.value, list):
        return escape("\n".join(str(item) for item in decision.value))
    if isinstance(decision.value, float):
        return f"{decision.value:g}"
    return escape(str(decision.value))
