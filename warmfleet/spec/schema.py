"""The JSON Schema of a spec: editors complete and check the YAML with it."""

from typing import Any

from pydantic import BaseModel

from warmfleet.spec.models import FleetSpec

__all__ = ["spec_schema"]


def spec_schema(model: type[BaseModel] = FleetSpec) -> dict[str, Any]:
    """Return the schema of a spec, or of another file that is written alike, draft 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(mode="validation"),
    }
