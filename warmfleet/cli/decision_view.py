"""Decisions as tables and in full."""

import difflib
from collections.abc import Iterable, Sequence

import click
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from warmfleet.plan.choice import gb
from warmfleet.plan.models import Decision

__all__ = ["decisions_of", "print_decisions", "print_explanations"]

_VALUE_WIDTH = 28
_REASON_WIDTH = 20


def print_decisions(
    console: Console,
    decisions: Iterable[Decision],
    *,
    within: str = "",
    outside: str | None = None,
) -> None:
    """Print a table of those whose field starts with ``within`` and not with ``outside``."""
    rows = [
        (decision.field.removeprefix(within), _value(decision), decision.reason)
        for decision in decisions
        if decision.field.startswith(within)
        and not (outside and decision.field.startswith(outside))
    ]
    # With widths and plain texts given, rich needs not lay out every cell to measure it: half of
    # the time that it takes, and plans are long.
    named = max((cell_len(row[0]) for row in rows), default=0)
    valued = max((cell_len(line) for row in rows for line in row[1].splitlines()), default=0)
    named, valued = max(named, len("decision")), min(max(valued, len("value")), _VALUE_WIDTH)
    table = Table(box=None, pad_edge=False)
    table.add_column("decision", no_wrap=True, width=named)
    table.add_column("value", width=valued)
    table.add_column("because", width=max(console.width - named - valued - 4, _REASON_WIDTH))
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def print_explanations(console: Console, decisions: Sequence[Decision]) -> None:
    """Print decisions with their inputs and sources."""
    for decision in decisions:
        console.print(f"[bold]{escape(decision.field)}[/bold] = {escape(_value(decision))}")
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
        return f"{gb(int(str(decision.value)))} GB"
    if decision.field.endswith("_bytes") and isinstance(decision.value, int):
        return f"{decision.value / 2**30:.1f} GiB"
    if isinstance(decision.value, list):
        return "\n".join(str(item) for item in decision.value)
    if isinstance(decision.value, float):
        if decision.field.startswith("cost."):  # as the table of the cost has it, to the cent
            return f"{decision.value:,.2f}"
        size = abs(decision.value)
        digits = ".4g" if size < 1000 else "g" if size < 10**6 else ".0f"
        return f"{decision.value:{digits}}"
    return str(decision.value)
