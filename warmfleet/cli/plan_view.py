"""A plan of the lab as tables for people."""

from rich.console import Console
from rich.table import Table

from warmfleet.cli.decision_view import print_decisions
from warmfleet.plan.models import FleetPlan

__all__ = ["print_plan"]


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
    print_decisions(console, plan.decisions)
