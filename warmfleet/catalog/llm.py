"""Published language models by name."""

from functools import cache

from warmfleet.catalog.load import load_catalog, read_table
from warmfleet.catalog.models import Model

__all__ = ["llms"]


@cache
def llms() -> tuple[Model, ...]:
    """Return all models whose shape the catalog knows; those of the lab come first."""
    rows = read_table("llms.json", "llms")
    return (*load_catalog().models, *(Model.model_validate(row) for row in rows))
