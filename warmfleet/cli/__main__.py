"""``python -m warmfleet.cli``: the same as ``warmfleet``."""

from warmfleet.cli.app import main

main(prog_name="warmfleet")
