"""Ansible inventory plugin: the hosts of a Warmfleet environment, from its Pulumi stack."""

import json
import os
from pathlib import Path
from typing import Any

from ansible import context
from ansible.errors import AnsibleError
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.utils.display import Display

DOCUMENTATION = """
name: warmfleet
short_description: Hosts of a Warmfleet environment
description:
  - Reads the environment's lock and the stack output C(fleet).
  - Fetches wheels and weights where they are missing.
  - Gives the groups C(gateways), C(replicas) and C(site_NAME), and all role inputs but secrets.
options:
  plugin:
    description: Marks the file as one of this plugin.
    required: true
    choices: [warmfleet]
  environment:
    description: Environment of the project (C(specs/ENVIRONMENT.yaml)).
    default: lab
    env: [{name: WARMFLEET_ENVIRONMENT}]
  project:
    description: Folder with C(Pulumi.yaml); the file's own folder when not given.
    type: path
    env: [{name: WARMFLEET_PROJECT}]
  composed:
    description: File that already holds the inventory in the shape of C(ansible-inventory --list).
    type: path
"""


class InventoryModule(BaseInventoryPlugin):
    """Adds what ``warmfleet.converge.compose`` gathered."""

    NAME = "warmfleet"

    def verify_file(self, path: str) -> bool:
        """Take files named ``*.warmfleet.yml``."""
        return super().verify_file(path) and path.endswith((".warmfleet.yml", ".warmfleet.yaml"))

    def parse(
        self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True
    ) -> None:
        """Fill the inventory, or end Ansible with one line that says what is missing."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        if context.CLIARGS.get("syntax"):
            return  # a check of the playbook's syntax, by ansible-lint too, needs no stack
        for group, content in self._groups(path).items():
            if group != "_meta":
                _add_group(inventory, group, content)

    def _groups(self, path: str) -> dict[str, Any]:
        if composed := self.get_option("composed"):
            found = json.loads(Path(composed).read_bytes())
        else:
            found = _compose(
                self.get_option("project") or os.path.dirname(path), self.get_option("environment")
            )
        for host, variables in found["_meta"]["hostvars"].items():
            self.inventory.add_host(host)
            for name, value in variables.items():
                self.inventory.set_variable(host, name, value)
        return dict(found)


def _compose(root: str, environment: str) -> dict[str, Any]:
    # Imported late: with a composed file Ansible need not load the control side.
    try:
        from warmfleet.converge.compose import compose_inventory
        from warmfleet.errors import WarmfleetError
        from warmfleet.project import Project
    except ImportError as error:
        msg = f"{error}: run the Ansible that stands beside warmfleet (.venv/bin in a checkout)"
        raise AnsibleError(msg) from error
    try:
        return compose_inventory(Project(Path(root).resolve()), environment, Display().v).inventory
    except WarmfleetError as error:
        # Not AnsibleParserError: Ansible would try the file with every other plugin, and print what
        # each of them makes of it around the one line that helps.
        Display().error(str(error), wrap_text=False)
        raise SystemExit(error.exit_status) from None


def _add_group(inventory: InventoryData, group: str, content: dict[str, Any]) -> None:
    inventory.add_group(group)
    for name, value in content.get("vars", {}).items():
        inventory.set_variable(group, name, value)
    for host in content.get("hosts", []):
        inventory.add_host(host, group)
    for child in content.get("children", []):
        inventory.add_group(child)
        inventory.add_child(group, child)
