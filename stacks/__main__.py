"""The program that `pulumi` runs in this folder."""

from warmfleet.stack.program import run

run()
