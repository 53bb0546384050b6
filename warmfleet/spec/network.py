"""The line between users and servers: what a person may fix of it."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from warmfleet.spec.fields import PathText, Positive, SpecModel, disagree
from warmfleet.spec.units import Duration, Percentage

__all__ = ["Billing", "Encoding", "NetworkSpec", "Script"]

Billing = Literal["fixed", "p95", "traffic"]

Script = Literal["latin", "cjk"]

Encoding = Literal["float", "base64"]


class NetworkSpec(SpecModel):
    """The line of every site; what is not said is planned."""

    line: Annotated[str, Field(min_length=1, max_length=80)] | None = Field(
        default=None,
        description="product, for example bgp, china-telecom, bgp-pro, or several joined by +; "
        "planned if absent",
    )
    carriers: dict[str, Annotated[Percentage, Positive]] = Field(
        default_factory=dict,
        description="carriers of the users in the mainland with their shares, which add up to "
        "100%; the national ones if absent",
    )
    dns_by_carrier: bool = Field(
        default=False,
        description="true when your name service answers by the asker's carrier: then several "
        "single-carrier lines can stand for one BGP line",
    )
    billing: Literal["auto", "fixed", "p95", "traffic"] = Field(
        default="auto",
        description="of the line: by its size, by the 95th percentile, by the bytes sent; auto: "
        "what costs least for this load",
    )
    probes: PathText | None = Field(
        default=None,
        description="CSV file of round-trip times that you measured, absolute or relative to the "
        "project folder: columns place, region, rtt_ms, and carrier if a row is of one alone; they "
        "come before every estimate",
    )
    weights_over: Literal["line", "private"] = Field(
        default="line",
        description="how new weights reach a site: over the line, or from a mirror there",
    )
    weights_window: Annotated[Duration, Positive] | None = Field(
        default=None, description="time off peak in which new weights are to arrive at a site"
    )

    @model_validator(mode="after")
    def _shares_add_up(self) -> Self:
        total = sum(share.percent for share in self.carriers.values())
        if self.carriers and total != 100:
            last, share = list(self.carriers.items())[-1]
            nearest = share.percent + 100 - total
            hint = f" ({last} as {Percentage(nearest)}, for example)" if nearest > 0 else ""
            disagree("network.carriers", f"shares add up to {total:f}%; needed 100%{hint}")
        return self
