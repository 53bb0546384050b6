#!/usr/bin/python
"""Tell which instances of the service run with which configuration, and retire the others."""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: inference_instances
short_description: Tell which instances of the service run, and retire those that are not declared
description:
  - Reads systemd and the environment of the running process.
  - Changes nothing but O(retire)d instances, and nothing at all in check mode.
options:
  unit: {description: Name of the unit template without C(@.service)., type: str, required: true}
  instances:
    description: Instances with name and configuration.
    type: list
    elements: dict
    required: true
  settings_dir: {description: Folder of the settings files., type: path, required: true}
  retire:
    description: Stop and disable instances that are not declared, and remove their settings.
    type: bool
    default: false
author: [The Warmfleet authors]
"""

VARIABLE = "WARMFLEET_CONFIGURATION"
UNITS = Path("/etc/systemd/system")
DROP_IN = "60-warmfleet.conf"


class Instances:
    """What a host has of one unit template, whether it is declared or not."""

    def __init__(self, unit: str, settings_dir: Path, units: Path = UNITS):
        self.unit = unit
        self.settings_dir = settings_dir
        self.units = units

    def undeclared(self, declared: set[str], in_use: list[str]) -> list[str]:
        """Return names with a settings file, a drop-in or a start at boot, or ``in_use``."""
        units = [
            *in_use,
            *(file.name for file in self.units.glob(f"*.wants/{self.unit}@?*.service")),
            *(file.parent.name for file in self.units.glob(f"{self.unit}@?*.service.d/{DROP_IN}")),
        ]
        names = {name.removeprefix(f"{self.unit}@").partition(".")[0] for name in units}
        names |= {file.stem for file in self.settings_dir.glob("*.json")}
        return sorted(names - declared)

    def remove_files(self, name: str) -> None:
        """Remove settings and drop-in; a drop-in of somebody else stays."""
        (self.settings_dir / f"{name}.json").unlink(missing_ok=True)
        drop_in = self.units / f"{self.unit}@{name}.service.d" / DROP_IN
        drop_in.unlink(missing_ok=True)
        if drop_in.parent.is_dir() and not any(drop_in.parent.iterdir()):
            drop_in.parent.rmdir()


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "instances": {"type": "list", "elements": "dict", "required": True},
            "settings_dir": {"type": "path", "required": True},
            "retire": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    unit = module.params["unit"]
    retired = _retire(module) if module.params["retire"] else []
    found = {"stale": [], "stopped": [], "starting": []}
    enabled, reload = True, False
    for instance in module.params["instances"]:
        shown = _show(module, f"{unit}@{instance['name']}.service")
        reload = reload or shown["NeedDaemonReload"] == "yes"
        enabled = enabled and shown["UnitFileState"] == "enabled"
        running = configuration_of(Path("/proc") / shown["MainPID"] / "environ")
        if kind := kind_of(shown["ActiveState"], running == instance["configuration"]):
            found[kind].append(instance["name"])
    module.exit_json(
        # What is due counts as changed, so that check mode and a dry run tell of it.
        changed=bool(retired or found["stale"] or found["stopped"] or reload or not enabled),
        retired=retired,
        enabled=enabled,
        reload=reload,
        **found,
    )


def kind_of(active_state: str, configured: bool) -> str:
    """Return what an instance needs: stale, stopped, starting, or empty for nothing.

    A start under way with the right configuration is waited for: it has read its weights perhaps.
    One between two tries has no process, so it is not ``configured``.
    """
    if active_state == "active":
        return "" if configured else "stale"
    return "starting" if active_state == "activating" and configured else "stopped"


def configuration_of(environ: Path) -> str:
    """Return what a process was started with, empty when it is gone or knows nothing of it."""
    try:
        variables = environ.read_bytes().split(b"\0")
    except OSError:
        return ""
    prefix = f"{VARIABLE}=".encode()
    return next((item[len(prefix) :].decode() for item in variables if item.startswith(prefix)), "")


def _retire(module):
    instances = Instances(module.params["unit"], Path(module.params["settings_dir"]))
    declared = {instance["name"] for instance in module.params["instances"]}
    # Not those that are inactive: systemd still knows them for a moment after they were retired.
    states = "--state=active,reloading,activating,deactivating,failed"
    _, listed, _ = _systemctl(
        module, "list-units", "--plain", "--no-legend", "--full", states, f"{instances.unit}@*"
    )
    in_use = [line.split()[0] for line in listed.splitlines() if line.strip()]
    names = instances.undeclared(declared, in_use)
    if names and not module.check_mode:
        units = [f"{instances.unit}@{name}.service" for name in names]
        _systemctl(module, "disable", "--quiet", *units)
        _systemctl(module, "stop", *units)
        for name in names:
            instances.remove_files(name)
        _systemctl(module, "daemon-reload")
        # A failed one would be listed for ever. That this knows nothing of the rest is no error.
        module.run_command(["systemctl", "reset-failed", *units])
    return names


def _show(module, unit):
    names = ["ActiveState", "UnitFileState", "MainPID", "NeedDaemonReload"]
    _, output, _ = _systemctl(module, "show", f"--property={','.join(names)}", unit)
    found = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
    return {name: found.get(name, "") for name in names}


def _systemctl(module, *arguments):
    return module.run_command(["systemctl", *arguments], check_rc=True)


if __name__ == "__main__":
    main()
