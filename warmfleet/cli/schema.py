"""``warmfleet schema``."""

import click

from warmfleet.cli.output import print_json

__all__ = ["schema"]


@click.command()
def schema() -> None:
    """Print the JSON Schema of a spec, for editors that complete YAML."""
    from warmfleet.spec.schema import spec_schema

    print_json(spec_schema())
