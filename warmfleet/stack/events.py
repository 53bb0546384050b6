"""What the Pulumi engine reports while it works, as lines and counts that people read."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["EventLog"]

_DOING = {
    "create": "creating",
    "create-replacement": "creating anew",
    "delete": "removing",
    "delete-replaced": "removing the old one",
    "update": "updating",
    "refresh": "looking",
}
_COUNTED = ("create", "update", "replace", "delete", "same")
_PROPERTY_PROBLEM = re.compile(
    r"^\S+ resource '[^']*': property (?P<property>\S+) value \{.*\} has a problem: (?P<reason>.*)$"
)
_STACK_TYPE = "pulumi:pulumi:Stack"


@dataclass
class EventLog:
    """Reads engine events, one JSON object a line."""

    on_event: Callable[[str], None]
    """Gets a line for each step that does something."""
    changes: dict[str, int] = field(default_factory=dict)
    """Resources by what was (or would be) done: create, update, replace, delete, same."""
    _problems: list[tuple[str, str]] = field(default_factory=list)
    _started: dict[str, float] = field(default_factory=dict)

    def read(self, line: str) -> None:
        """Take one line in; what is not an event is ignored."""
        try:
            event = json.loads(line)
        except ValueError:
            return
        if not isinstance(event, dict):
            return
        for kind, handle in (
            ("resourcePreEvent", self._begin),
            ("resOutputsEvent", self._end),
            ("diagnosticEvent", self._diagnose),
            ("summaryEvent", self._sum_up),
        ):
            if kind in event:
                handle(event[kind])

    def problem(self) -> str | None:
        """Return what went wrong in one line, None when the engine named nothing."""
        # Errors without a resource are mostly the engine's echo of those with one.
        named = [(name, text) for name, text in self._problems if name] or self._problems
        texts = list(dict.fromkeys(text for _, text in named))
        if not texts:
            return None
        names = sorted({name for name, text in named if text == texts[0] and name})
        line = f"{', '.join(names)}: {texts[0]}" if names else texts[0]
        return line if len(texts) == 1 else f"{line} (and {len(texts) - 1} more)"

    def _begin(self, event: dict[str, Any]) -> None:
        step = event["metadata"]
        if step["op"] in _DOING and not event.get("planning") and _is_real(step):
            self._started[step["urn"]] = time.monotonic()
            self.on_event(f"{_name(step['urn'])}: {_DOING[step['op']]}")

    def _end(self, event: dict[str, Any]) -> None:
        step = event["metadata"]
        began = self._started.pop(step["urn"], None)
        if began is not None:
            self.on_event(f"{_name(step['urn'])}: done in {time.monotonic() - began:.1f} s")

    def _diagnose(self, event: dict[str, Any]) -> None:
        if event.get("severity") != "error":
            return
        text = " ".join(str(event.get("message", "")).split())
        if problem := _PROPERTY_PROBLEM.match(text):
            text = f"{problem['property']}: {problem['reason']}"
        name = _name(event.get("urn", ""))
        if text and (name, text) not in self._problems:
            self._problems.append((name, text))

    def _sum_up(self, event: dict[str, Any]) -> None:
        found = event.get("resourceChanges") or {}
        self.changes = {kind: int(found.get(kind, 0)) for kind in _COUNTED}


def _is_real(step: dict[str, Any]) -> bool:
    """Tell resources of a provider from components, which only group them."""
    return bool((step.get("new") or step.get("old") or {}).get("custom"))


def _name(urn: str) -> str:
    kind, _, name = urn.rpartition("::")
    return "" if kind.endswith(_STACK_TYPE) else name
