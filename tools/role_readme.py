"""Write the variable table of each role's README from its ``meta/argument_specs.yml``.

The text between the markers is generated; everything above them is written by hand.

    python tools/role_readme.py [--check] [ROLE_FOLDER ...]

Exit 0: up to date or written. Exit 3: ``--check`` found a README that differs. Exit 2: a README has
no markers.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

BEGIN = "<!-- BEGIN VARIABLES -->"
END = "<!-- END VARIABLES -->"
ROLES = Path(__file__).resolve().parents[1] / "roles"


def main() -> int:
    """Write or check the READMEs and return the exit status."""
    parser = argparse.ArgumentParser(description="Write the variable table of each role's README.")
    parser.add_argument(
        "--check", action="store_true", help="change nothing, exit 3 on a difference"
    )
    parser.add_argument("roles", nargs="*", type=Path, help="role folders (all of them)")
    arguments = parser.parse_args()
    status = 0
    for role in arguments.roles or role_folders(ROLES):
        readme = role / "README.md"
        old = readme.read_text()
        try:
            new = with_variables(old, render(load_options(role)))
        except ValueError as error:
            print(f"{readme}: {error}", file=sys.stderr)
            return 2
        if new == old:
            continue
        if arguments.check:
            print(
                f"{readme} differs from meta/argument_specs.yml; run: python tools/role_readme.py"
            )
            status = 3
        else:
            readme.write_text(new)
            print(f"wrote {readme}")
    return status


def role_folders(roles: Path) -> list[Path]:
    """Return the folders below ``roles`` that hold a role with an argument specification."""
    return sorted(path.parents[1] for path in roles.glob("*/meta/argument_specs.yml"))


def load_options(role: Path) -> dict[str, Any]:
    """Return the options of the role's main entry point."""
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())
    options: dict[str, Any] = specs["argument_specs"]["main"]["options"]
    return options


def render(options: dict[str, Any]) -> str:
    """Return Markdown: a table of the variables, then one for the fields of each nested one."""
    sections = ["## Variables", _table(options)]
    for name, option in options.items():
        if fields := option.get("options"):
            sections += [f"### Fields of `{name}`", _table(fields)]
    return "\n\n".join(sections)


def with_variables(readme: str, variables: str) -> str:
    """Return ``readme`` with the text between the markers replaced; ValueError without markers."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        msg = f"found no markers; needed: the lines {BEGIN} and {END}"
        raise ValueError(msg)
    return f"{before}{BEGIN}\n{variables}\n{END}{after}"


def _table(options: dict[str, Any]) -> str:
    rows = ["| name | type | default | what it is |", "|---|---|---|---|"]
    for name, option in options.items():
        cells = [f"`{name}`", _type(option), _default(option), _description(option)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _type(option: dict[str, Any]) -> str:
    kind: str = option.get("type", "str")
    return f"{kind} of {option['elements']}" if "elements" in option else kind


def _default(option: dict[str, Any]) -> str:
    if option.get("required"):
        return "required"
    return f"`{json.dumps(option['default'])}`" if "default" in option else ""


def _description(option: dict[str, Any]) -> str:
    description = option.get("description", "")
    text = " ".join(description) if isinstance(description, list) else description
    for mark in ("C(", "O("):
        while mark in text:
            before, _, rest = text.partition(mark)
            code, _, after = rest.partition(")")
            text = f"{before}`{code}`{after}"
    if choices := option.get("choices"):
        text += f" One of {', '.join(f'`{choice}`' for choice in choices)}."
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
