"""A plan of GPU servers as tables for people: what to rent, each model, then what all share."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warmfleet.cli.cost_view import print_cost
from warmfleet.cli.decision_view import print_decisions
from warmfleet.cli.site_view import all_users_line, site_lines
from warmfleet.plan.choice import gb, gib
from warmfleet.plan.gpu_models import GpuFleetPlan, GpuModelPlan, MemoryPlan, ServerGroupPlan
from warmfleet.plan.start_models import ColdStartPlan
from warmfleet.plan.update_models import ModelUpdatePlan

__all__ = ["print_gpu_plan"]

_NAMED = 3
"""Servers that are named; the rest is counted."""

_BILLED = {"fixed": "the committed rate", "p95": "the 95th percentile", "traffic": "traffic"}

_REFUSED_SHOWN = 4
"""Refused offers of a model that are shown: those that miss least."""


def print_gpu_plan(console: Console, plan: GpuFleetPlan) -> None:
    """Print servers, then memory, speed, refused offers and every decision of each model."""
    for site in plan.sites:
        line = site.bandwidth
        console.print(
            f"[bold]{escape(plan.environment)}[/bold]: {plan.kind}, {escape(site.region)}, line "
            f"{escape(line.line)} {line.committed_mbps} Mbps (burst {line.burst_mbps}), "
            f"{line.rtt_ms:g} ms, billed by {_BILLED[line.billing.kind]}"
        )
        for said in site_lines(site):
            console.print(escape(said))
        console.print(_servers(site.groups))
        for how in site.updates:
            console.print(escape(_update(how)))
        if site.idle:
            console.print(f"leased and not needed: {escape(_some(site.idle))}")
    if len(plan.sites) > 1:
        console.print(all_users_line(plan.rtt))
    for index, model in enumerate(plan.models):
        console.print()
        console.print(_title(model))
        console.print(_memory(model.memory))
        console.print(_speed(model))
        console.print(_start(model.cold_start))
        if model.residency.kind != "resident":
            console.print(_turns(model))
        for loss in model.quality:
            console.print(f"  quality  {escape(loss.finding)} ({escape(loss.source)})")
        if model.refused:
            console.print(_refused(model))
        print_decisions(console, plan.decisions, within=f"models[{index}].")
    console.print()
    print_cost(console, plan.cost)
    console.print()
    console.print("[bold]all models[/bold]")
    print_decisions(console, plan.decisions, outside="models[")


def _servers(groups: Iterable[ServerGroupPlan]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("servers", "count", "cards of each", "cores", "memory", "model disk",
                   "data disk", "driver", "replicas on each"):  # fmt: skip
        right = column in {"count", "cores", "memory", "model disk", "data disk"}
        table.add_column(column, justify="right" if right else "left")
    for group in groups:
        what = f"leased: {_some(group.servers)}" if group.servers else f"to rent: {group.name}"
        cards = f"{group.gpus} x {group.card}"
        on_each = ", ".join(
            f"{place.model} (card {' '.join(map(str, place.cards))})" for place in group.replicas
        )
        host = group.host
        table.add_row(
            escape(what),
            str(group.count),
            escape(cards),
            str(host.cores),
            *map(_gb, (host.memory_bytes, host.model_disk.size_bytes, host.data_disk.size_bytes)),
            host.driver.branch if host.driver else "",
            on_each,
        )
    return table


def _update(how: ModelUpdatePlan) -> str:
    gap = f", {how.gap_s:.0f} s without any" if how.gap_s else ""
    return (
        f"updates of {how.model}: {how.strategy.replace('_', ' ')}; {how.ready} serve meanwhile "
        f"(floor {how.floor}, {how.peak_share:.0%} of the peak){gap}; {how.replace_s:.0f} s a "
        "replica at most"
    )


def _title(model: GpuModelPlan) -> str:
    cards = model.cards
    spare = f" ({model.spare} to spare)" if model.spare else ""
    return (
        f"[bold]{escape(model.name)}[/bold]: {escape(model.facts.name)} in {model.precision}, "
        f"{model.engine.kind}; replicas: {model.replicas}{spare}, {cards.count} x "
        f"{escape(cards.name)}"
    )


def _memory(memory: MemoryPlan) -> str:
    parts = {
        "weights": memory.weights_bytes,
        "cache": memory.kv_bytes,
        "engine": memory.activation_bytes + memory.non_torch_bytes,
        "free": memory.headroom_bytes,
    }
    named = " + ".join(f"{gib(size)} {name}" for name, size in parts.items())
    return (
        f"  memory   {named} = {gib(memory.budget_bytes)} of {gib(memory.total_bytes)} GiB a "
        "card\n"
        f"  planned  {_requests(memory.planned_requests)} of {memory.planned_tokens} tokens at a "
        f"time; at most {_requests(memory.largest_concurrency)} of the whole context"
    )


def _speed(model: GpuModelPlan) -> str:
    speed = model.throughput
    answers = most = ""
    if speed.ceiling_tokens_per_s:
        answers = f", then {speed.stream_tokens_per_s:.0f} tokens/s a stream"
        most = f" ({speed.ceiling_tokens_per_s:.0f} tokens/s)"
    return (
        f"  speed    first token {speed.ttft_p95_s * 1000:.0f} ms (p95){answers}; off by "
        f"{speed.error_pct:.0f} % in the median\n"
        f"  at most  {speed.ceiling_qps:.3g} requests/s{most} of one replica"
    )


def _start(plan: ColdStartPlan) -> str:
    reading = f", weights by {plan.load.strategy}" if plan.load else ""
    off = f"; off by {plan.error_pct:.0f} % in the median" if plan.error_pct is not None else ""
    return (
        f"  start    {plan.reboot_s:.0f} s after a reboot, {plan.restart_s:.0f} s again, "
        f"{plan.first_s:.0f} s for the first time{reading}{off}"
    )


def _turns(model: GpuModelPlan) -> str:
    where = "on disk" if model.residency.kind == "in_turn" else "in host memory"
    return (
        f"  turns    its weights wait {where}; {model.residency.wait_s:.0f} s for a request that "
        "finds another model loaded"
    )


def _refused(model: GpuModelPlan) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("  refused offer", no_wrap=True)
    table.add_column("precision", no_wrap=True)
    table.add_column("missing a card", justify="right", no_wrap=True)
    table.add_column("because")
    for offer in model.refused[:_REFUSED_SHOWN]:
        missing = f"{gib(offer.missing_bytes)} GiB" if offer.missing_bytes else ""
        table.add_row(f"  {escape(offer.offer)}", offer.precision, missing, escape(offer.why))
    if (more := len(model.refused) - _REFUSED_SHOWN) > 0:
        table.add_row(f"  and {more} more", "", "", "see --json")
    return table


def _gb(size: int) -> str:
    return f"{gb(size)} GB"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _requests(count: int) -> str:
    return f"{count} request{'s' if count > 1 else ''}"
