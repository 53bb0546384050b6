"""Ansible lookup: a secret of a Warmfleet environment, read on the control machine when needed."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

DOCUMENTATION = """
name: warmfleet_secret
short_description: A secret of a Warmfleet environment
description:
  - Secrets are in no inventory, stack output or plan; a play reads them here, under C(no_log).
options:
  _terms:
    description: Which secrets.
    required: true
    choices:
      - api_key_sha256
      - server.pem
      - server.key
      - fleet_ca.pem
      - client.pem
      - client.key
      - replica.pem
      - replica.key
  environment:
    description: The environment; the inventory's own when not given.
    type: str
  project:
    description: Folder with C(Pulumi.yaml); the inventory's own when not given.
    type: path
"""

RETURN = """
_raw:
  description:
    - The values, in the order asked for.
    - C(api_key_sha256) is the hash of the key in hexadecimal, never the key.
    - C(replica.pem) and C(replica.key) are those of the host that the play is at.
  type: list
  elements: str
"""


class LookupModule(LookupBase):
    """Reads ``Credentials`` of one environment; makes nothing."""

    def run(
        self, terms: Sequence[str], variables: dict[str, Any] | None = None, **options: Any
    ) -> list[str]:
        """Return the secrets; AnsibleLookupError names the one that is missing, never a value."""
        self.set_options(var_options=variables, direct=options)
        known = variables or {}
        environment = self.get_option("environment") or known.get("warmfleet_environment")
        root = self.get_option("project") or known.get("warmfleet_project")
        if not environment:
            msg = "no environment; needed: environment=NAME, or the warmfleet inventory"
            raise AnsibleLookupError(msg)
        host = str(known.get("inventory_hostname", ""))
        return [_read(term, root, str(environment), host) for term in terms]


def _read(term: str, root: str | None, environment: str, host: str) -> str:
    from warmfleet.errors import WarmfleetError
    from warmfleet.project import Project
    from warmfleet.stack.credentials import Credentials

    try:
        project = Project(Path(root)) if root else Project.find()
        credentials = Credentials(project.environment_state(environment))
        files = {
            "api_key_sha256": credentials.api_key_file,
            "server.pem": credentials.server_certificate_file,
            "server.key": credentials.server_key_file,
            "fleet_ca.pem": credentials.fleet_ca_file,
            "client.pem": credentials.client_certificate_file,
            "client.key": credentials.client_key_file,
            "replica.pem": credentials.replica_certificate_file(host),
            "replica.key": credentials.replica_key_file(host),
        }
        if term not in files:
            msg = f"no secret {term!r}; known are {', '.join(files)}"
            raise AnsibleLookupError(msg)
        content = files[term].read_text()
    except WarmfleetError as error:
        raise AnsibleLookupError(str(error)) from None
    except OSError as error:
        found = f"secret {term!r} of {environment}: {error.filename}: {error.strerror}"
        msg = f"{found}; run warmfleet up {environment}"
        raise AnsibleLookupError(msg) from None
    if term == "api_key_sha256":
        return hashlib.sha256(content.strip().encode()).hexdigest()
    return content
