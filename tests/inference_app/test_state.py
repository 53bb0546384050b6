"""Only legal moves, and only READY takes traffic."""

import itertools

import pytest

from inference_app.state import ReplicaState, StateMachine

_PATH = [ReplicaState.LOADING, ReplicaState.WARMING, ReplicaState.READY]
_LEGAL = {
    *itertools.pairwise([ReplicaState.STARTING, *_PATH]),
    *((state, ReplicaState.DRAINING) for state in [ReplicaState.STARTING, *_PATH]),
    *((state, ReplicaState.FAILED) for state in [ReplicaState.STARTING, *_PATH]),
    (ReplicaState.DRAINING, ReplicaState.FAILED),
}


def _at(state: ReplicaState) -> StateMachine:
    machine = StateMachine()
    if state in {ReplicaState.DRAINING, ReplicaState.FAILED}:
        machine.move(state)
    for step in _PATH:
        if machine.state is state:
            break
        machine.move(step)
    assert machine.state is state
    return machine


@pytest.mark.parametrize(("origin", "to"), list(itertools.product(ReplicaState, ReplicaState)))
def test_moves(origin: ReplicaState, to: ReplicaState) -> None:
    machine = _at(origin)
    if (origin, to) in _LEGAL:
        machine.move(to)
        assert machine.state is to
    else:
        with pytest.raises(ValueError, match=f"from {origin} to {to}"):
            machine.move(to)
        assert machine.state is origin
    assert machine.ready is (machine.state is ReplicaState.READY)
