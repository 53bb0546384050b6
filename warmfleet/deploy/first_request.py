"""Does the first request to each replica cost what a steady one does? Through the proxy."""

import secrets
import statistics
from collections import defaultdict
from collections.abc import Callable

from pydantic import BaseModel, ConfigDict

from warmfleet.deploy.probe import Answer, Endpoint

__all__ = ["FirstRequest", "measure_first_requests"]

_STEADY_PER_REPLICA = 4
_OUTPUT_TOKENS = 16
# A fixed length, so that every probe is the same shape; the nonce in front keeps each from finding
# its prefix in an engine's prompt cache.
_PROMPT = (
    "{nonce} Write one short sentence about the weather in a harbour town in the early morning."
)


class FirstRequest(BaseModel):
    """First against steady for one replica; seconds to the sixteenth streamed token."""

    model_config = ConfigDict(frozen=True)

    replica: str
    first_s: float
    steady_median_s: float
    steady_n: int

    @property
    def ratio(self) -> float:
        """First over steady median; 1.0 is a perfectly warm replica."""
        return self.first_s / self.steady_median_s


def measure_first_requests(
    endpoint: Endpoint, model: str, replicas: int, on_answer: Callable[[Answer], None]
) -> list[FirstRequest]:
    """Send requests one at a time until every replica has answered one first and some steady ones.

    The proxy takes idle replicas in turn, so twice the needed number bounds the loop; a replica
    that has answered fewer than two requests by then is left out of the result.

    Raises:
        EndpointError: a request failed.
    """
    seen: dict[str, list[float]] = defaultdict(list)
    wanted = _STEADY_PER_REPLICA + 1
    for _ in range(2 * wanted * replicas):
        answer = endpoint.chat(model, _PROMPT.format(nonce=secrets.token_hex(4)), _OUTPUT_TOKENS)
        on_answer(answer)
        seen[answer.replica].append(answer.time_to(_OUTPUT_TOKENS))
        if len(seen) >= replicas and min(map(len, seen.values())) >= wanted:
            break
    return [
        FirstRequest(
            replica=replica,
            first_s=times[0],
            steady_median_s=statistics.median(times[1:]),
            steady_n=len(times) - 1,
        )
        for replica, times in sorted(seen.items())
        if len(times) > 1
    ]
