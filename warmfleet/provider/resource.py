"""What every resource of the provider is: inputs, state, and their life.

State is a plain dict that holds the inputs and what was observed, because a diff is given the old
state only. Methods block; the provider runs them in threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from warmfleet.provider.codec import UNKNOWN, unknown_names

__all__ = ["Change", "Failure", "Inputs", "Resource"]

_JSON_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}


class Inputs(BaseModel):
    """Base of the inputs of a resource; field descriptions go into the schema."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Failure:
    """An input that a person has to change; ``property`` is its name, empty for several."""

    property: str
    reason: str


@dataclass(frozen=True)
class Change:
    """A property that differs."""

    property: str
    kind: str
    """``add``, ``delete`` or ``update``."""
    replaces: bool = False
    is_input: bool = True


class Resource(ABC):
    """One type of resource."""

    kind: ClassVar[str]
    inputs: ClassVar[type[Inputs]]
    outputs: ClassVar[Mapping[str, tuple[type, str]]] = {}
    """What is only known of the real thing: name -> (type, description)."""
    replaced_by: ClassVar[frozenset[str]] = frozenset()
    """Inputs that cannot change on the living thing."""
    secrets: ClassVar[frozenset[str]] = frozenset()

    def check(self, news: Mapping[str, Any]) -> list[Failure]:
        """Return everything that is wrong with the inputs; what is unknown is not judged."""
        unknown = unknown_names(news)
        known = {name: value for name, value in news.items() if name not in unknown}
        try:
            self.inputs.model_validate(known)
        except ValidationError as error:
            return [
                Failure(".".join(str(part) for part in problem["loc"]), _reason(problem))
                for problem in error.errors(include_url=False)
                if not (problem["loc"] and problem["loc"][0] in unknown)
            ]
        return []

    def diff(self, state: Mapping[str, Any], news: Mapping[str, Any]) -> list[Change]:
        """Return the inputs that differ between the state and the new inputs."""
        changes = []
        for name in self.inputs.model_fields:
            old, new = state.get(name), news.get(name)
            if old != new or new is UNKNOWN:
                kind = "add" if old is None else "delete" if new is None else "update"
                changes.append(Change(name, kind, replaces=name in self.replaced_by))
        return changes

    @abstractmethod
    def identity(self, news: Mapping[str, Any]) -> str:
        """Return the ID that these inputs give the resource; all parts of it are known."""

    @abstractmethod
    def create(self, news: Mapping[str, Any]) -> dict[str, Any]:
        """Make it, or adopt what an earlier, broken run left; return the state."""

    @abstractmethod
    def read(self, identity: str, state: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the state as found, None only when it is proven gone."""

    @abstractmethod
    def update(self, state: Mapping[str, Any], news: Mapping[str, Any]) -> dict[str, Any]:
        """Change the living thing; return the state."""

    @abstractmethod
    def delete(self, identity: str) -> None:
        """Remove it; already gone is fine."""

    def preview(self, news: Mapping[str, Any]) -> dict[str, Any]:
        """Return the state that a create would give, without touching anything."""
        return {**news, **dict.fromkeys(self.outputs, UNKNOWN)}

    def schema(self) -> dict[str, Any]:
        """Return the resource's part of the package schema."""
        fields = self.inputs.model_json_schema()["properties"]
        inputs = {
            name: _property(fields[name], secret=name in self.secrets)
            for name in self.inputs.model_fields
        }
        computed = {
            name: {"type": _JSON_TYPES[kind.__name__], "description": description}
            for name, (kind, description) in self.outputs.items()
        }
        required = [n for n, field in self.inputs.model_fields.items() if field.is_required()]
        return {
            "description": (type(self).__doc__ or "").strip(),
            "inputProperties": inputs,
            "requiredInputs": required,
            "properties": {**inputs, **computed},
            "required": [*required, *computed],
        }


def _reason(problem: Mapping[str, Any]) -> str:
    if problem["type"] == "missing":
        return "is required"
    if problem["type"] == "extra_forbidden":
        return "is not a property of this resource"
    message = str(problem["msg"]).removeprefix("Value error, ")
    return f"{message}; found {problem['input']!r}"


def _property(field: Mapping[str, Any], *, secret: bool) -> dict[str, Any]:
    # Optional is "anyOf [T, null]" in JSON Schema; Pulumi says the same by not requiring it.
    kind = next((k for k in field.get("anyOf", [field]) if k.get("type") != "null"), field)
    described: dict[str, Any] = {"type": kind["type"], "description": field.get("description", "")}
    if kind["type"] == "array":
        described["items"] = {"type": kind["items"]["type"]}
    if kind["type"] == "object":
        described["additionalProperties"] = {"type": kind["additionalProperties"]["type"]}
    if secret:
        described["secret"] = True
    return described
