"""``InferenceFleet``: all sites of one environment, and the endpoint in front of them."""

from dataclasses import dataclass
from typing import Any

import pulumi

from warmfleet.plan.models import FleetPlan
from warmfleet.stack.outputs import FleetOutput
from warmfleet.stack.site import InferenceSite, InferenceSiteArgs

__all__ = ["InferenceFleet", "InferenceFleetArgs"]


@dataclass(frozen=True)
class InferenceFleetArgs:
    """What a fleet is made of."""

    plan: FleetPlan
    image: str
    """Container image of the lab's hosts."""
    authorized_key: str
    """Public SSH key that every host lets in."""


class InferenceFleet(pulumi.ComponentResource):
    """One environment; ``output`` is a ``FleetOutput`` as a dict."""

    output: pulumi.Output[dict[str, Any]]

    def __init__(
        self, name: str, args: InferenceFleetArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("warmfleet:index:InferenceFleet", name, None, opts)
        sites = [
            InferenceSite(
                f"{name}-{site.name}",
                InferenceSiteArgs(
                    environment=args.plan.environment,
                    plan=site,
                    image=args.image,
                    authorized_key=args.authorized_key,
                ),
                pulumi.ResourceOptions(parent=self),
            )
            for site in args.plan.sites
        ]
        outputs = pulumi.Output.all(*(site.output for site in sites))
        self.output = outputs.apply(lambda found: _output(args.plan, found))
        self.register_outputs({"output": self.output})


def _output(plan: FleetPlan, sites: list[dict[str, Any]]) -> dict[str, Any]:
    output = FleetOutput.model_validate(
        {
            "environment": plan.environment,
            "kind": plan.kind,
            "endpoint": f"https://{plan.endpoint.address}:{plan.endpoint.port}",
            "sites": sites,
        }
    )
    return output.model_dump(mode="json")
