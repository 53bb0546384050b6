"""The table of commands: name, module, and the line in ``warmfleet --help``."""

from typing import NamedTuple

__all__ = ["COMMANDS", "CommandEntry"]


class CommandEntry(NamedTuple):
    """Where a command lives; the module's attribute has the command's name."""

    module: str
    help: str


COMMANDS: dict[str, CommandEntry] = {
    "plan": CommandEntry("warmfleet.cli.plan", "Show what a spec gives, with reasons; write it."),
    "quote": CommandEntry(
        "warmfleet.cli.quote", "Write the request for quotation, in two languages."
    ),
    "size": CommandEntry("warmfleet.cli.size", "Say whether a model fits on a card."),
    "up": CommandEntry("warmfleet.cli.up", "Bring it up, converge it, prove that it answers."),
    "status": CommandEntry("warmfleet.cli.status", "Show hosts, replicas and their cold starts."),
    "converge": CommandEntry("warmfleet.cli.converge", "Run only Ansible; --check only looks."),
    "drain": CommandEntry("warmfleet.cli.drain", "Send a host no requests; it stays warm."),
    "undrain": CommandEntry("warmfleet.cli.drain", "Let a drained host serve again."),
    "restart": CommandEntry("warmfleet.cli.restart", "Restart a host's services; lose nothing."),
    "replace": CommandEntry("warmfleet.cli.replace", "Destroy a host and make it anew."),
    "logs": CommandEntry("warmfleet.cli.logs", "Read a host's logs."),
    "ssh": CommandEntry("warmfleet.cli.ssh", "Log in to a host, or run a command there."),
    "down": CommandEntry("warmfleet.cli.down", "Destroy an environment; only its logs stay."),
    "schema": CommandEntry("warmfleet.cli.schema", "Print the JSON Schema of a spec."),
    "env": CommandEntry("warmfleet.cli.env", "Print the variables that bare pulumi needs."),
    "completion": CommandEntry("warmfleet.cli.completion", "Print a shell's completion script."),
}
"""In the order of help: the order in which they are used."""
