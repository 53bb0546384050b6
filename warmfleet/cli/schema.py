"""``warmfleet schema``."""

import click

from warmfleet.cli.output import print_json

__all__ = ["schema"]


@click.command()
@click.option("--prices", is_flag=True, help="That of a price book instead.")
def schema(prices: bool) -> None:
    """Print the JSON Schema of a spec, for editors that complete YAML."""
    from warmfleet.spec.models import FleetSpec
    from warmfleet.spec.prices import PriceBook
    from warmfleet.spec.schema import spec_schema

    print_json(spec_schema(PriceBook if prices else FleetSpec))
