"""Decisions as tables and in full."""

import difflib
from collections.abc import Iterable, Sequence

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warmfleet.plan.models import Decision

__all__ = ["decision_table", "decisions_of", "print_explanations"]


def decision_table(
    decisions: Iterable[Decision], *, within: str = "", outside: str | None = None
) -> Table:
    """Return a table of those whose field starts with ``within`` and not with ``outside``."""
    table = Table(box=None, pad_edge=False)
    table.add_column("decision", no_wrap=True)
    table.add_column("value", max_width=28)
    table.add_column("because")
    for decision in decisions:
        field = decision.field
        if field.startswith(within) and not (outside and field.startswith(outside)):
            named = field.removeprefix(within)
            table.add_row(escape(named), _value(decision), escape(decision.reason))
    return table


def print_explanations(console: Console, decisions: Sequence[Decision]) -> None:
    """Print decisions with their inputs and sources."""
    for decision in decisions:
        console.print(f"[bold]{escape(decision.field)}[/bold] = {_value(decision)}")
        console.print(f"  because  {escape(decision.reason)}")
        for name, value in decision.inputs.items():
            console.print(f"  input    {escape(name)} = {escape(str(value))}")
        if decision.source:
            console.print(f"  source   {escape(decision.source)}")


def decisions_of(decisions: Sequence[Decision], field: str) -> list[Decision]:
    """Return the decisions whose field is ``field``, lies in it, ends with it, or goes through it.

    Raises:
        click.UsageError: none; the nearest field is named.
    """
    found = [
        decision
        for decision in decisions
        if decision.field == field or decision.field.startswith((f"{field}.", f"{field}["))
    ]
    found = found or [item for item in decisions if item.field.endswith(f".{field}")]
    found = found or [item for item in decisions if f".{field}." in item.field]
    if found:
        return found
    fields = [decision.field for decision in decisions]
    names = {name.rpartition(".")[2]: name for name in fields} | {name: name for name in fields}
    close = difflib.get_close_matches(field, names, n=1, cutoff=0.5)
    hint = f"did you mean {names[close[0]]!r}?" if close else f"known: {', '.join(fields)}"
    msg = f"--explain: no decision about {field!r}; {hint}"
    raise click.UsageError(msg, click.get_current_context(silent=True))


def _value(decision: Decision) -> str:
    if ".host." in decision.field and decision.field.endswith("_bytes"):
        return f"{int(str(decision.value)) / 10**9:.0f} GB"
    if decision.field.endswith("_bytes") and isinstance(decision.value, int):
        return f"{decision.value / 2**30:.1f} GiB"
    if isinstance(decision.value, list):
        return escape("\n".join(str(item) for item in decision.value))
    if isinstance(decision.value, float):
        digits = ".4g" if abs(decision.value) < 1000 else "g"
        return f"{decision.value:{digits}}"
    return escape(str(decision.value))
