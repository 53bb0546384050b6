"""A room imports only from rooms to its left; the service imports nothing of the control side."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# As in the design: data flows from the left to the right.
ROOMS = [
    "spec",
    "catalog",
    "resolve",
    "sizing",
    "network",
    "plan",
    "provider",
    "stack",
    "inventory",
    "converge",
    "telemetry",
    "deploy",
    "operate",
    "cli",
]
SHARED = {"content", "errors", "logs", "private_files", "project", "space"}
# What of the service the control side may read, and which rooms do.
SERVICE_MODULES = {
    "inference_app.errors": {"inventory"},
    "inference_app.gguf": {"resolve"},
    "inference_app.problems": {
        "spec",
        "catalog",
        "resolve",
        "sizing",
        "plan",
        "operate",
        "project",
    },
    "inference_app.settings": {"inventory"},
}


def imports(path: Path, root: Path = ROOT) -> Iterator[tuple[int, str]]:
    """Yield line and full name of each thing that a module imports, inside functions too."""
    package = path.relative_to(root).parent.parts
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            base += node.module.split(".") if node.module else []
            for alias in node.names:
                yield node.lineno, ".".join([*base, alias.name])


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def violations(room: str, name: str) -> str | None:
    """Return why ``room`` must not import ``name``; None when it may."""
    words = name.split(".")
    if words[0] == "inference_app":
        readers = SERVICE_MODULES.get(".".join(words[:2]), set())
        return None if room in readers else f"of the service, rooms may read {SERVICE_MODULES}"
    if words[0] != "warmfleet" or len(words) == 1:
        return None
    if words[1] in SHARED or words[1] == "__version__":
        return None
    if words[1] not in ROOMS:
        return f"{words[1]} is no room"
    if room in SHARED:
        return "what all rooms share imports none of them"
    left = ROOMS[: ROOMS.index(room) + 1]
    return None if words[1] in left else f"{words[1]} is to the right of {room}"


@pytest.mark.parametrize("path", modules("warmfleet"), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_from_its_left(path: Path) -> None:
    room = path.relative_to(ROOT / "warmfleet").with_suffix("").parts[0]
    if room in {"__init__", "_content"}:
        room = "errors"
    assert room in {*ROOMS, *SHARED}, f"{room} is neither a room nor shared"
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}: {why}"
        for line, name in imports(path)
        if (why := violations(room, name)) is not None
    ]
    assert found == []


def test_the_service_imports_nothing_of_the_control_side() -> None:
    control = {"warmfleet", "pulumi", "ansible", "ansible_runner", "paramiko", "click"}
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules("inference_app")
        for line, name in imports(path)
        if name.split(".")[0] in control
    ]
    assert found == []


def test_there_is_something_to_check() -> None:
    assert len(modules("warmfleet")) > 30
    assert len(modules("inference_app")) > 10


@pytest.mark.parametrize(
    ("room", "name", "allowed"),
    [
        ("plan", "warmfleet.spec.models.FleetSpec", True),
        ("plan", "warmfleet.plan.lock", True),
        ("plan", "warmfleet.stack.outputs", False),
        ("spec", "warmfleet.errors.SpecError", True),
        ("errors", "warmfleet.spec", False),
        ("inventory", "inference_app.settings.ServiceSettings", True),
        ("inventory", "inference_app.main", False),
        ("inventory", "inference_app.problems.nearest", False),
        ("spec", "inference_app.problems.nearest", True),
        ("spec", "inference_app.settings", False),
        ("cli", "inference_app.settings", False),
        ("cli", "warmfleet.nowhere", False),
        ("cli", "json", True),
    ],
)
def test_the_rule_itself(room: str, name: str, allowed: bool) -> None:
    assert (violations(room, name) is None) is allowed


def test_relative_imports_are_resolved(tmp_path: Path) -> None:
    module = tmp_path / "warmfleet" / "plan" / "one.py"
    module.parent.mkdir(parents=True)
    module.write_text("from . import two\nfrom ..stack.outputs import Three\nimport four.five\n")
    assert [name for _, name in imports(module, tmp_path)] == [
        "warmfleet.plan.two",
        "warmfleet.stack.outputs.Three",
        "four.five",
    ]
