"""Cold-start ledgers of all replicas beside the plan, as a table for people."""

from rich.table import Table

from warmfleet.deploy.first_request import FirstRequest
from warmfleet.deploy.status import FleetStatus
from warmfleet.plan.start_models import ColdStartPlan, PhasePlan

__all__ = ["ledger_table"]

_MIB = 2**20


def ledger_table(
    status: FleetStatus, first_requests: list[FirstRequest], goal: float | None
) -> Table | None:
    """Return phases as rows and replicas as columns, since starts are compared phase by phase.

    A model's plan stands before its replicas: what a start takes that finds everything that is
    kept, to one that finds nothing.
    """
    started = [replica for replica in status.replicas if replica.coldstart is not None]
    if not started:
        return None
    table = Table("Phase", title="Cold start (seconds)")
    cells: dict[str, list[str]] = {}
    totals: list[str] = []
    shown: set[str] = set()
    for replica in started:
        if replica.coldstart is None:
            continue
        plan = status.cold_starts.get(replica.model)
        if plan is not None and replica.model not in shown:
            shown.add(replica.model)
            one = len(status.cold_starts) == 1
            table.add_column("planned" if one else f"{replica.model}, planned", justify="right")
            for phase in plan.phases:
                _put(cells, phase.name, len(totals), _planned(phase))
            totals.append(_planned(plan))
        table.add_column(replica.host, justify="right")
        for row in replica.coldstart.phases:
            _put(cells, row.label, len(totals), f"{row.duration_s:.3f}{_note(row.detail)}")
        totals.append(f"{replica.coldstart.total_s:.3f}")
    for label, row_cells in cells.items():
        table.add_row(label, *row_cells)
    table.add_section()
    table.add_row("total", *totals, style="bold")
    if first_requests:
        measured = {first.replica: first for first in first_requests}
        note = f" (goal {goal:.1f}x)" if goal else ""
        hosts = {replica.host for replica in started}
        table.add_row(
            f"first external request / steady median{note}",
            *(
                _first(measured.get(str(column.header)), goal) if column.header in hosts else ""
                for column in table.columns[1:]
            ),
        )
    return table


def _put(cells: dict[str, list[str]], label: str, column: int, text: str) -> None:
    row = cells.setdefault(label, [])
    row += [""] * (column - len(row)) + [text]


def _planned(plan: PhasePlan | ColdStartPlan) -> str:
    least, most = (f"{seconds:.2f}" for seconds in (plan.restart_s, plan.first_s))
    return least if least == most else f"{least} to {most}"


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
