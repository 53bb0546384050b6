"""``BandwidthContract``: the line of a site, an order on paper that a diff makes visible."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from warmfleet.provider.resource import Inputs, Resource

__all__ = ["BandwidthContract", "BandwidthContractInputs"]


class BandwidthContractInputs(Inputs):
    """Inputs of a bandwidth contract."""

    environment: str = Field(
        pattern=r"^[a-z][a-z0-9-]{0,30}$", description="environment that the line serves"
    )
    region: str = Field(min_length=1, description="where the servers stand")
    line: str = Field(min_length=1, description="line product, such as bgp")
    carriers: list[str] = Field(min_length=1, description="carriers that announce the address")
    committed_mbps: int = Field(gt=0, description="guaranteed rate, 10^6 bit/s")
    burst_mbps: int = Field(gt=0, description="highest rate, 10^6 bit/s")
    reference: str | None = Field(default=None, description="number of the order or contract")

    @model_validator(mode="after")
    def _burst_is_not_below_committed(self) -> Self:
        if self.burst_mbps < self.committed_mbps:
            msg = (
                f"burst_mbps {self.burst_mbps} is below committed_mbps {self.committed_mbps}; "
                "needed: the same or more"
            )
            raise ValueError(msg)
        return self


class BandwidthContract(Resource):
    """Committed and burst rate of a site's line; changing it is an order to the carrier."""

    kind = "warmfleet:index:BandwidthContract"
    inputs = BandwidthContractInputs
    # Another region or product is another contract; a new rate is an amendment.
    replaced_by = frozenset({"environment", "region", "line"})

    def identity(self, news: Mapping[str, Any]) -> str:
        """Return what the contract is about."""
        return f"{news['environment']}/{news['region']}/{news['line']}"

    def create(self, news: Mapping[str, Any]) -> dict[str, Any]:
        """Record the contract."""
        return dict(news)

    def read(self, identity: str, state: Mapping[str, Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Return the record: paper cannot be probed, so it never counts as gone."""
        return dict(state)

    def update(self, state: Mapping[str, Any], news: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Record the amended contract."""
        return dict(news)

    def delete(self, identity: str) -> None:
        """Forget the record; ending the contract is the reviewer's letter, not ours."""
