#!/bin/sh
# Lints roles and scenarios. The inventory of ansible.cfg needs a running stack; linting needs none.
set -eu
cd "$(dirname -- "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
export PATH ANSIBLE_INVENTORY=localhost,
exec ansible-lint --offline -c .config/ansible-lint.yml roles molecule
