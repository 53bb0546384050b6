"""How Ansible runs the tasks of a play: by Mitogen."""

import importlib.util
from pathlib import Path

from warmfleet.errors import ConvergeError

__all__ = ["strategy_variables"]


def strategy_variables() -> dict[str, str]:
    """Return the variables that make Ansible run tasks by Mitogen.

    One Python stays on each host for the whole run, where Ansible starts one for every task.

    Raises:
        ConvergeError: Mitogen is not installed.
    """
    found = importlib.util.find_spec("ansible_mitogen")  # importing it would patch this process
    if found is None or found.origin is None:
        msg = "mitogen is not installed; needed: the packages of warmfleet[control]"
        raise ConvergeError(msg)
    return {
        "ANSIBLE_STRATEGY": "mitogen_linear",
        "ANSIBLE_STRATEGY_PLUGINS": str(Path(found.origin).parent / "plugins" / "strategy"),
    }
