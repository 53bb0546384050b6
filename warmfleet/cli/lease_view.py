"""Leases as a table for people."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warmfleet.deploy.leases import LeasesStatus

__all__ = ["print_leases"]


def print_leases(console: Console, status: LeasesStatus) -> None:
    """Print what is leased and until when, then what to do about it."""
    console.print(
        f"[bold]{escape(status.environment)}[/bold]: leased servers, which are planned and not "
        "adopted yet"
    )
    if status.leases:
        table = Table(box=None, pad_edge=False)
        for column in ("server", "leased until", "days left", "reference"):
            table.add_column(column, justify="right" if column == "days left" else "left")
        for lease in status.leases:
            days, reference = str(lease.days_left), escape(lease.reference or "")
            table.add_row(escape(lease.server), str(lease.until), days, reference)
        console.print(table)
    if status.unknown:
        named = escape(", ".join(status.unknown))
        console.print(f"no last day in the spec (placement.servers[].lease): {named}")
    for warning in status.warnings:
        console.print(f"warning: {escape(warning)}", soft_wrap=True)
