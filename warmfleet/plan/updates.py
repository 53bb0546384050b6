"""How updates of a model go on at a site: whether two copies fit, and where."""

from collections.abc import Sequence

from msgspec import Struct

from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice, gib
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_models import ServerGroupPlan
from warmfleet.plan.gpu_replicas import Staffing
from warmfleet.plan.models import Decision
from warmfleet.plan.update_models import ModelUpdatePlan, Strategy
from warmfleet.plan.update_room import Room, room_for
from warmfleet.spec.models import UpdatesSpec
from warmfleet.spec.placement import BaremetalPlacement

__all__ = ["Update", "choose_updates"]

_STRATEGIES: tuple[Strategy, ...] = ("blue_green", "side_by_side", "drain_then_swap")


class Update(Struct, frozen=True):
    """What was chosen for a model at a site."""

    model: str
    strategy: Choice[Strategy]
    replicas: int
    carry: int
    """Replicas that the peak needs."""
    floor: int

    @property
    def ready(self) -> int:
        """Replicas that serve while one is replaced."""
        return _ready(self.replicas, self.strategy.value)

    def plan(self, *, drain_s: float, start_s: float) -> ModelUpdatePlan:
        """Return its part of the plan, once the times are known."""
        replace_s = round(drain_s + start_s, 3)
        return ModelUpdatePlan(
            model=self.model,
            strategy=self.strategy.value,
            ready=self.ready,
            floor=self.floor,
            peak_share=round(min(1.0, self.ready / self.carry), 4),
            replace_s=replace_s,
            gap_s=0 if self.ready else replace_s,
        )

    def decisions(
        self, at: str, plan: ModelUpdatePlan, *, start_s: float, queue_s: float
    ) -> tuple[Decision, ...]:
        """Return the reasons for the parts of its plan."""
        drain_s = round(plan.replace_s - start_s, 3)
        inputs = {"start_s": start_s, "drain_s": drain_s, "queue_s": queue_s}
        gap = Choice(
            plan.gap_s,
            f"the only replica drains, {drain_s:g} s if its longest answer has just begun, and "
            f"starts, {start_s:g} s; requests wait at the gateway for {queue_s:g} s at most, then "
            "they are refused"
            if plan.gap_s
            else f"{plan.ready} of {self.replicas} serve all the time",
            inputs,
        )
        return (
            self.strategy.decision(f"{at}.strategy"),
            _floor(self, plan).decision(f"{at}.floor"),
            gap.decision(f"{at}.gap_s"),
        )


def choose_updates(
    chosen: Sequence[Chosen],
    staffing: Sequence[Staffing],
    groups: Sequence[ServerGroupPlan],
    placement: BaremetalPlacement,
    asked: UpdatesSpec,
) -> tuple[Update, ...]:
    """Choose how each model of a site is updated, or keep the strategy that the spec asks for.

    Raises:
        PlanRefusedError: the asked one does not fit, with what is missing.
    """
    by_name = {one.wanted.spec.name: one for one in chosen}
    updates = []
    for one, count in zip(chosen, staffing, strict=True):
        room = room_for(one, by_name, groups, placement)
        replicas = count.replicas.value
        carry = replicas - count.spare
        strategy = _strategy(one, room, asked.strategy, spare=count.spare, replicas=replicas)
        floor = min(carry, _ready(replicas, strategy.value)) if asked.floor is None else asked.floor
        updates.append(Update(one.wanted.spec.name, strategy, replicas, carry, floor))
    return tuple(updates)


def _ready(replicas: int, strategy: Strategy) -> int:
    return replicas - (strategy == "drain_then_swap")


def _strategy(
    chosen: Chosen, room: Room, asked: str, *, spare: int, replicas: int
) -> Choice[Strategy]:
    name = chosen.wanted.spec.name
    inputs = room.inputs | {"replicas": replicas, "spare": spare}
    if asked == "auto":
        strategy, reason = _best(room, spare, replicas)
        return Choice(strategy, reason, inputs)
    missing = {
        "blue_green": room.short_of_second_set,
        "side_by_side": room.short_of_second_copy,
    }.get(asked)
    if missing is not None:
        nearest, _ = _best(room, spare, replicas)
        msg = (
            f"updates.strategy: asked {asked}, but model {name} has {missing}; nearest: {nearest} "
            f"({_ready(replicas, nearest)} of {replicas} serve meanwhile), or auto"
        )
        raise PlanRefusedError(msg)
    found: Strategy = next(row for row in _STRATEGIES if row == asked)
    return Choice(found, f"asked for; {_how(found, room, spare, replicas)}", inputs)


def _best(room: Room, spare: int, replicas: int) -> tuple[Strategy, str]:
    """Return the strategy that costs users least, and why.

    Of what leaves no gap: a second set first, which is shown before it carries; then a spare
    replica, which leaves the running ones their whole cache; then two copies on the same cards.
    """
    strategy: Strategy = "drain_then_swap"
    if room.short_of_second_set is None:
        strategy = "blue_green"
    elif spare == 0 and room.short_of_second_copy is None:
        strategy = "side_by_side"
    return strategy, _how(strategy, room, spare, replicas)


def _how(strategy: Strategy, room: Room, spare: int, replicas: int) -> str:
    if strategy == "blue_green":
        return f"{room.second_set}: a whole second set starts, is shown to work and takes over"
    if strategy == "side_by_side":
        return (
            f"two copies fit on the same cards: {gib(room.copy_bytes)} GiB each of "
            f"{gib(room.card_bytes)}, with memory, cores and disk of the host for both"
        )
    without = f"; no second set ({room.short_of_second_set or 'though there is room for one'})"
    if spare:
        return (
            f"{spare} of {replicas} replicas can be spared: one after another leaves, and the rest "
            f"carry the peak{without}"
        )
    copies = f", nor two copies ({room.short_of_second_copy or 'though they fit'})"
    rest = f"{replicas - 1} of {replicas} carry less than the peak meanwhile" if replicas > 1 else (
        "the only replica leaves its cards before the new one starts"
    )  # fmt: skip
    return f"{rest}{without}{copies}"


def _floor(update: Update, plan: ModelUpdatePlan) -> Choice[int]:
    inputs = {"ready": plan.ready, "carry": update.carry}
    if plan.floor >= update.carry:
        many = update.carry > 1
        carry = f"{update.carry} replicas carry" if many else "1 replica carries"
        reason = f"{carry} the peak, {'each ' if many else ''}below its limit: never fewer serve"
    else:
        reason = (
            f"{plan.ready} serve while one is replaced, and the peak needs {update.carry}: update "
            f"while load is at most {plan.peak_share:.0%} of the peak"
            if plan.ready
            else "nothing serves while the only replica is replaced"
        )
    return Choice(plan.floor, reason, inputs)
