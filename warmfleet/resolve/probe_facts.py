"""What is known of the user's own round-trip times."""

from pydantic import BaseModel, ConfigDict, Field

from warmfleet.catalog.models import ProbedPath

__all__ = ["ProbeFacts", "ProbedRtt"]


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ProbedRtt(_Facts):
    """One path."""

    place: str
    region: str
    carrier: str | None = Field(description="None: of all carriers")
    rtt_ms: float = Field(gt=0, description="the median of its rows")


class ProbeFacts(_Facts):
    """Round-trip times that the user measured."""

    path: str = Field(description="of the file, as the spec says it")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="of that file")
    rows: int = Field(gt=0, description="in the file; several of a path count by their median")
    paths: tuple[ProbedRtt, ...] = Field(min_length=1)

    @property
    def times(self) -> dict[ProbedPath, float]:
        """Milliseconds by path."""
        return {(row.place, row.region, row.carrier): row.rtt_ms for row in self.paths}
