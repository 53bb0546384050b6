#!/bin/sh
# Removes what make made in this checkout. Refuses while lab hosts exist: their state is in it.
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
if [ -d stacks/.warmfleet/backend/.pulumi/stacks ] && grep -rqs '"warmfleet:index:' stacks/.warmfleet/backend/.pulumi/stacks; then
  echo "error: stacks/.warmfleet still holds the state of hosts; run 'make down' first" >&2
  exit 1
fi
rm -rf .venv .tools .cache .mypy_cache .ruff_cache .pytest_cache .ansible dist build stacks/.warmfleet
find . -xdev -name __pycache__ -prune -exec rm -rf {} +
