"""The two READMEs say the same, and what the documentation names exists."""

import ast
import importlib
import re
from pathlib import Path
from urllib.parse import unquote

import click
import openai
import pytest

from tests.docs.documents import ROOT, Document, documents
from warmfleet.cli.commands import COMMANDS

ENGLISH, CHINESE = Document("README.md"), Document("README.zh-CN.md")
EVERY = pytest.mark.parametrize("document", documents(), ids=lambda document: document.name)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TOP_FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."}


def test_both_languages_have_the_same_headings() -> None:
    assert len(ENGLISH.heading_levels) > 15
    assert ENGLISH.heading_levels == CHINESE.heading_levels


def test_both_languages_have_the_same_code() -> None:
    assert len(ENGLISH.blocks) > 10
    assert ENGLISH.blocks == CHINESE.blocks


def test_both_languages_have_the_same_commands() -> None:
    assert ENGLISH.commands[-2:] == [
        "make up",
        "make test",
    ]  # the indented block of the first screen
    assert ENGLISH.commands == CHINESE.commands


def test_both_languages_name_the_same_files_commands_and_errors() -> None:
    assert sorted(ENGLISH.spans) == sorted(CHINESE.spans)
    links = [link for link in ENGLISH.links if link != CHINESE.name]
    assert sorted(links) == sorted(link for link in CHINESE.links if link != ENGLISH.name)


def test_first_screen_is_two_commands() -> None:
    screen = ENGLISH.text.partition("## Quick start")[2][:600]
    assert re.findall(r"^    (make \w+)", screen, flags=re.MULTILINE) == ["make up", "make test"]


def test_quoted_spec_is_the_file() -> None:
    spec = (ROOT / "stacks" / "specs" / "lab.yaml").read_text(encoding="utf-8")
    assert [body for language, body in ENGLISH.blocks if language == "yaml"] == [spec]


def test_quoted_output_shows_no_secret_and_no_place_of_one_machine() -> None:
    quoted = ENGLISH.text.partition("<!-- BEGIN OUTPUT -->")[2].partition("<!-- END OUTPUT -->")[0]
    assert "Cold start (seconds)" in quoted
    assert "first external request" in quoted
    assert not re.search(r"wf-[\w-]{20,}", quoted)
    assert not re.search(r"(?<![\w.])/(?:home|root|work|tmp|srv|opt)/", quoted)


def test_example_of_the_client_uses_what_the_package_has() -> None:
    (code,) = [body for language, body in ENGLISH.blocks if language == "python"]
    tree = ast.parse(code)
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "openai"
    }
    assert used == {"OpenAI", "DefaultHttpxClient"}
    assert all(hasattr(openai, name) for name in used)


@EVERY
def test_links_resolve(document: Document) -> None:
    for link in document.links:
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        page = document.path.parent / unquote(target) if target else document.path
        assert page.exists(), f"{document.name}: {link}"
        if anchor:
            assert anchor in _anchors(page), f"{document.name}: {link}"


@EVERY
def test_make_targets_exist(document: Document) -> None:
    rooms = re.search(r"^ROOMS := (.+)$", MAKEFILE, flags=re.MULTILINE)
    assert rooms is not None
    targets = {*re.findall(r"^([a-z][a-z0-9-]*):", MAKEFILE, flags=re.MULTILINE)}
    targets |= {f"test-{room}" for room in ["ROOM", *rooms.group(1).split()]}

    assert {words[0] for words in document.calls("make")} <= targets


@EVERY
def test_warmfleet_commands_exist(document: Document) -> None:
    for name, *rest in document.calls("warmfleet"):
        assert name in COMMANDS
        command = getattr(importlib.import_module(COMMANDS[name].module), name)
        assert isinstance(command, click.Command)
        known = {option for parameter in command.params for option in parameter.opts}
        ours = rest[: rest.index("--")] if "--" in rest else rest
        assert {word for word in ours if word.startswith("--")} <= known


@EVERY
def test_named_paths_exist(document: Document) -> None:
    for span in document.spans:
        path = Path(span)
        plain = re.fullmatch(r"[\w.@/-]+", span) and "/" in span
        # What an environment makes is there only while it is up; a version of the spec is no path.
        made = span == "warmfleet/v1" or ".warmfleet" in path.parts
        if plain and not made and path.parts[0] in TOP_FOLDERS:
            pattern = re.sub(r"\b(ENV|NAME|ROLE|ROOM)\b", "*", span.rstrip("/"))
            assert any(ROOT.glob(pattern)), f"{document.name}: {span}"


def _anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
