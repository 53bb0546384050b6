"""Ansible connection: a podman container, one ``podman exec`` a module.

The collection's plugin knows no pipelining, so that each module costs it four runs of podman.
"""

import shlex
import subprocess
from pathlib import Path

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: podman_exec
short_description: A podman container of this machine
description: Runs commands as root in a container, with pipelining.
options:
  remote_addr:
    description: Name of the container.
    type: str
    vars:
      - name: inventory_hostname
"""


class Connection(ConnectionBase):
    """Keeps nothing open."""

    transport = "podman_exec"
    has_pipelining = True

    def _connect(self):
        self._connected = True
        return self

    def exec_command(self, cmd, in_data=None, sudoable=True):
        """Run a command line; return its status and all that it wrote."""
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        return self._podman_exec(shlex.split(cmd), in_data)

    def put_file(self, in_path, out_path):
        """Copy a file into the container."""
        super().put_file(in_path, out_path)
        self._or_fail(["dd", f"of={out_path}", "bs=1M", "status=none"], Path(in_path).read_bytes())

    def fetch_file(self, in_path, out_path):
        """Copy a file out of the container."""
        super().fetch_file(in_path, out_path)
        Path(out_path).write_bytes(self._or_fail(["cat", in_path]))

    def close(self):
        """Do nothing: nothing is open."""
        self._connected = False

    def _or_fail(self, command, data=None):
        status, output, errors = self._podman_exec(command, data)
        if status != 0:
            msg = f"{shlex.join(command)}: {errors.decode(errors='replace').strip()}"
            raise AnsibleConnectionFailure(msg)
        return output

    def _podman_exec(self, command, data):
        interactive = [] if data is None else ["--interactive"]
        done = subprocess.run(
            ["podman", "exec", *interactive, self.get_option("remote_addr"), *command],
            input=data,
            capture_output=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr
