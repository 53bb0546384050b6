"""New weights on their way to a site: how long they take, and whether that fits."""

from msgspec import Struct

from warmfleet.catalog.wire import WireSizes
from warmfleet.plan.choice import Choice
from warmfleet.plan.models import PullPlan
from warmfleet.spec.network import NetworkSpec

__all__ = ["Pull", "choose_pull", "pull_plan"]

_NIGHT_S = 8 * 3600
"""Off peak; a pull that takes longer meets the load of the day."""


class Pull(Struct, frozen=True):
    """The weights that all servers of a site fetch for one revision of every model."""

    size_bytes: int
    network: NetworkSpec
    wire: WireSizes

    @property
    def over_line(self) -> bool:
        """Whether they cross the line."""
        return self.network.weights_over == "line"

    @property
    def needed_mbps(self) -> float:
        """Rate that the asked window needs; 0 where none is asked or the line is not used."""
        window = self.network.weights_window
        if window is None or not self.over_line:
            return 0.0
        return self._megabits / window.seconds

    def seconds(self, mbps: float) -> float:
        """Return the time at a rate that nothing else uses."""
        return self._megabits / mbps

    @property
    def _megabits(self) -> float:
        """On the wire: full segments in full records."""
        payload = self.wire.record_payload / (self.wire.record_payload + self.wire.record_bytes)
        segment = self.wire.segment_payload
        return self.size_bytes * 8 / 10**6 / payload * (segment + self.wire.segment_bytes) / segment


def choose_pull(pull: Pull, committed_mbps: int) -> Choice[float]:
    """Say how long the weights take on the committed line, and within what."""
    window = pull.network.weights_window
    size = f"{pull.size_bytes / 10**9:.3g} GB of weights to all servers of the site"
    inputs: dict[str, str | int | float | bool] = {"size_bytes": pull.size_bytes}
    if not pull.over_line:
        return Choice(0.0, f"{size} come from a mirror there, not over the line", inputs)
    seconds = pull.seconds(committed_mbps)
    inputs["committed_mbps"] = committed_mbps
    fits = ""
    if window is None and seconds > _NIGHT_S:
        fits = "; for less, ask for a network.weights_window, or have a mirror there"
    if window is not None:
        inputs |= {"window_s": window.seconds, "needed_mbps": pull.needed_mbps}
        fits = f"; the window of {window} needs {pull.needed_mbps:.3g} Mbps"
    return Choice(
        round(seconds, 1),
        f"{size} on the committed line, off peak and if the control machine sends as fast: "
        f"{_time(seconds)}, before a server's first start and before a rollout, outside of the "
        f"cold start{fits}",
        inputs,
        "full segments of TCP and records of TLS, framed as answers are",
    )


def pull_plan(pull: Pull, choice: Choice[float]) -> PullPlan:
    """Return the part of the plan."""
    window = pull.network.weights_window
    return PullPlan(
        over=pull.network.weights_over,
        size_bytes=pull.size_bytes,
        seconds=choice.value if pull.over_line else None,
        window_s=window.seconds if window else None,
    )


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
