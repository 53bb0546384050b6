#!/usr/bin/python
"""Tell which instances of the service run, and with which configuration they were started."""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: inference_instances
short_description: Tell which instances of the service run, and with which configuration
description: Reads systemd and the environment of the running process. Changes nothing.
options:
  unit: {description: Name of the unit template without C(@.service)., type: str, required: true}
  instances:
    description: Instances with name and configuration.
    type: list
    elements: dict
    required: true
author: [The Warmfleet authors]
"""

VARIABLE = "WARMFLEET_CONFIGURATION"


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "instances": {"type": "list", "elements": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    stale, stopped, enabled, reload = [], [], True, False
    for instance in module.params["instances"]:
        shown = _show(module, f"{module.params['unit']}@{instance['name']}.service")
        reload = reload or shown["NeedDaemonReload"] == "yes"
        enabled = enabled and shown["UnitFileState"] == "enabled"
        running = configuration_of(Path("/proc") / shown["MainPID"] / "environ")
        if shown["ActiveState"] != "active":
            stopped.append(instance["name"])
        elif running != instance["configuration"]:
            stale.append(instance["name"])
    module.exit_json(changed=False, stale=stale, stopped=stopped, enabled=enabled, reload=reload)


def configuration_of(environ: Path) -> str:
    """Return what a process was started with, empty when it is gone or knows nothing of it."""
    try:
        variables = environ.read_bytes().split(b"\0")
    except OSError:
        return ""
    prefix = f"{VARIABLE}=".encode()
    return next((item[len(prefix) :].decode() for item in variables if item.startswith(prefix)), "")


def _show(module, unit):
    names = ["ActiveState", "UnitFileState", "MainPID", "NeedDaemonReload"]
    _, output, _ = module.run_command(
        ["systemctl", "show", f"--property={','.join(names)}", unit], check_rc=True
    )
    found = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
    return {name: found.get(name, "") for name in names}


if __name__ == "__main__":
    main()
