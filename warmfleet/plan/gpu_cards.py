"""Cards of one server for the replicas on it: apart where there is room, else as packed."""

from collections.abc import Callable, Sequence

from warmfleet.sizing.packing import BUSY_SHARE, Part, Server

__all__ = ["assign_cards"]

_Free = tuple[int, float]
"""Bytes and share of the time that a card has left."""

_ROUNDING = 1e-9


def assign_cards(parts: Sequence[Part], server: Server) -> list[tuple[Part, tuple[int, ...]]]:
    """Return the cards of each part, in the order of the cards.

    A server is packed tightly to need few of them; on the server itself a free card is better than
    a shared one. Parts that take turns find each a place as if alone.
    """
    largest = sorted(parts, key=lambda part: (-part.cards, -part.busy, -part.memory, part.model))
    emptiest = _assign(largest, server, lambda free: (-free[1], -free[0]))
    fullest = emptiest or _assign(largest, server, lambda free: free)
    if fullest is None:
        return [(part, tuple(range(part.cards))) for part in largest]
    return sorted(fullest, key=lambda pair: (pair[1], pair[0].model))


def _assign(
    parts: Sequence[Part], server: Server, preferred: Callable[[_Free], tuple[float, float]]
) -> list[tuple[Part, tuple[int, ...]]] | None:
    free: list[_Free] = [(server.memory, BUSY_SHARE)] * server.cards
    found = []
    for part in parts:
        able = [
            card
            for card, (memory, busy) in enumerate(free)
            if memory >= part.memory and busy >= part.busy - _ROUNDING
        ]
        if len(able) < part.cards:
            return None
        taken = sorted(able, key=lambda card: (*preferred(free[card]), card))[: part.cards]
        for card in taken:
            free[card] = (free[card][0] - part.memory, free[card][1] - part.busy)
        found.append((part, tuple(sorted(taken))))
    return found
