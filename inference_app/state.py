"""The one state of a replica and the moves between states that are legal."""

from enum import StrEnum

__all__ = ["ReplicaState", "StateMachine"]


class ReplicaState(StrEnum):
    """What a replica is doing; only READY takes traffic."""

    STARTING = "starting"
    LOADING = "loading"
    WARMING = "warming"
    READY = "ready"
    DRAINING = "draining"
    FAILED = "failed"


_END = {ReplicaState.DRAINING, ReplicaState.FAILED}
_LEGAL = {
    ReplicaState.STARTING: {ReplicaState.LOADING} | _END,
    ReplicaState.LOADING: {ReplicaState.WARMING} | _END,
    ReplicaState.WARMING: {ReplicaState.READY} | _END,
    ReplicaState.READY: _END,
    ReplicaState.DRAINING: {ReplicaState.FAILED},
    ReplicaState.FAILED: set(),
}


class StateMachine:
    """Holds the state; a move that is not in the table is a bug and raises ValueError."""

    def __init__(self) -> None:
        self._state = ReplicaState.STARTING

    @property
    def state(self) -> ReplicaState:
        """The state now."""
        return self._state

    @property
    def ready(self) -> bool:
        """Whether traffic may come."""
        return self._state is ReplicaState.READY

    def move(self, to: ReplicaState) -> None:
        """Go to another state."""
        if to not in _LEGAL[self._state]:
            msg = f"a replica cannot go from {self._state} to {to}"
            raise ValueError(msg)
        self._state = to
