"""Markdown as tests look at it: headings, code, links, and the commands and paths it names."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^    \S.*\n)+", flags=re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Document:
    """One Markdown file below the root of the checkout."""

    name: str

    @property
    def path(self) -> Path:
        return ROOT / self.name

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """The text without code blocks."""
        return _INDENTED.sub("", _FENCE.sub("", self.text))

    @property
    def heading_levels(self) -> list[int]:
        return [len(mark) for mark in re.findall(r"^(#+) ", self.prose, flags=re.MULTILINE)]

    @property
    def blocks(self) -> list[tuple[str, str]]:
        """Language and content of each fenced block, in order."""
        return _FENCE.findall(self.text)

    @property
    def spans(self) -> list[str]:
        return _SPAN.findall(self.prose)

    @property
    def links(self) -> list[str]:
        return _LINK.findall(self.prose)

    @property
    def commands(self) -> list[str]:
        """Lines of shell, without comments, in order: fenced ``sh``, and indented blocks."""
        shell = "".join(body for language, body in self.blocks if language == "sh")
        shell += "".join(_INDENTED.findall(_FENCE.sub("", self.text)))
        lines = (re.sub(r"\s+#.*", "", line).strip() for line in shell.splitlines())
        return [line for line in lines if line]

    def calls(self, program: str) -> list[list[str]]:
        """Return the arguments, one or more, of each call of a program in code."""
        start = rf"(?:^|[\s(;&/]){program} "
        calls = [re.split(start, line)[1:] for line in self.commands]
        calls += [
            re.split(start, span)[1:] for span in self.spans if re.match(rf"{program} [a-z]", span)
        ]
        words = (re.sub(r"[()|;&].*", "", call).split() for line in calls for call in line)
        return [found for found in words if found and found[0][0].isalpha()]


def documents() -> list[Document]:
    """Return every page for people: at the top, in docs/, and the README of each folder."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    for top in ("warmfleet", "inference_app", "roles", "molecule", "tests", "benchmarks", "stacks"):
        found += (ROOT / top).rglob("README.md")
    found += ROOT.glob("t*/README.md")  # templates, tools
    unwanted = ("_content", ".warmfleet")
    names = {path.relative_to(ROOT) for path in found if not {*path.parts} & {*unwanted}}
    return [Document(str(name)) for name in sorted(names)]
