"""Put one file straight into a folder of the host, without a stop on another disk."""

from pathlib import Path, PurePosixPath
from shlex import quote

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

DOCUMENTATION = r"""
module: weights_upload
short_description: Put one file straight into a folder of the host
description:
  - C(ansible.builtin.copy) lets a file arrive in the home of the user that connects, or where
    Mitogen keeps its temporary files, and moves it from there. That disk may be too small.
  - A file of the right size that is there already is kept; whoever publishes it reads all of it.
  - Without Mitogen, a user other than root cannot write where the file belongs. What it copies
    still passes through its home.
options:
  src: {description: File on the control machine., type: path, required: true}
  dest: {description: Where it belongs on the host, folder and name., type: path, required: true}
author: [The Warmfleet authors]
"""

NO_SPACE = "No space left on device"
WRITTEN_AT_ONCE = 2 * 1024 * 1024


class ActionModule(ActionBase):
    """Runs on the control machine."""

    supports_raw_params = False
    _VALID_ARGS = frozenset({"src", "dest"})

    def run(self, tmp=None, task_vars=None):
        """Return the result of the task."""
        result = super().run(tmp, task_vars)
        source, dest = self._task.args["src"], self._task.args["dest"]
        found = self._execute_remote_stat(dest, all_vars=task_vars, follow=False, checksum=False)
        size = Path(source).stat().st_size
        if found["exists"] and found["size"] == size:
            return {**result, "changed": False}
        if not self._task.check_mode:
            if self._arrives_as_root():
                self._put(source, dest, task_vars)
            elif (copied := self._copy(source, dest, task_vars)).get("failed"):
                return {**result, **copied}
        return {**result, "changed": True}

    def _arrives_as_root(self):
        # Mitogen writes files as the user that a task becomes, Ansible as the one that connects.
        by_mitogen = constants.DEFAULT_STRATEGY.startswith("mitogen")
        return by_mitogen or not self._play_context.become

    def _put(self, source, dest, task_vars):
        try:
            self._connection.put_file(source, dest)
        except AnsibleConnectionFailure:
            raise
        except Exception as error:
            # Mitogen says it, and removes its draft. SFTP does not say why it could not write.
            if NO_SPACE not in str(error):
                if self._free_bytes(dest, task_vars) > WRITTEN_AT_ONCE:
                    raise
                self._low_level_execute_command(f"rm -f {quote(dest)}")
            msg = f"[Errno 28] {NO_SPACE}: {dest!r}"  # as Python writes it, and as it is read
            raise AnsibleActionFail(msg) from error

    def _free_bytes(self, dest, task_vars):
        arguments = {"root": str(PurePosixPath(dest).parent), "models": [], "action": "inspect"}
        found = self._execute_module("model_revision", arguments, task_vars=task_vars)
        return found.get("free_bytes", WRITTEN_AT_ONCE + 1)

    def _copy(self, source, dest, task_vars):
        task = self._task.copy()
        task.args = {"src": source, "dest": dest, "mode": "0640"}
        copy = self._shared_loader_obj.action_loader.get(
            "ansible.legacy.copy",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        return copy.run(task_vars=task_vars)
