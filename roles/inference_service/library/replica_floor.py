#!/usr/bin/python
"""Tell whether a gateway still serves every model while one host restarts."""

import json
import time
import urllib.request

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: replica_floor
short_description: Tell whether a gateway still serves every model while one host restarts
description:
  - Asks the gateway that it runs on what it knows of its replicas. Changes nothing.
  - A gateway whose proxy does not run yet sends nobody anywhere, and has no say.
options:
  host: {description: Host that is to restart., type: str, required: true}
  floor: {description: Ready replicas of each model that must be left., type: int, required: true}
  port: {description: Port on loopback that tells of the replicas., type: int, required: true}
  wait_s: {description: Seconds that others have to become ready., type: float, default: 15}
author: [The Warmfleet authors]
"""

POLL_S = 0.5
TIMEOUT_S = 5


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "floor": {"type": "int", "required": True},
            "port": {"type": "int", "required": True},
            "wait_s": {"type": "float", "default": 15},
        },
        supports_check_mode=True,
    )
    host, floor = module.params["host"], module.params["floor"]
    deadline = time.monotonic() + module.params["wait_s"]
    while True:
        replicas = replicas_of(module.params["port"])
        if not (short := below_floor(replicas or [], host, floor)):
            module.exit_json(changed=False, asked=replicas is not None)
        if time.monotonic() > deadline:
            module.fail_json(msg=refusal(short, host, floor))
        time.sleep(POLL_S)


def replicas_of(port):
    """Return the list of replicas; None when no proxy answers, or one older than this question."""
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/replicas", timeout=TIMEOUT_S
        ) as answer:
            found = json.load(answer)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, list) else None


def below_floor(replicas, host, floor):
    """Return the models that would be short without ``host``, each with who would be left.

    A host that gets no requests anyway takes nothing away.
    """
    serving = [one for one in replicas if one["ready"] and not one["drained"]]
    models = sorted({one["model"] for one in serving if one["name"] == host})
    left = {
        model: sorted(
            one["name"] for one in serving if one["model"] == model and one["name"] != host
        )
        for model in models
    }
    return {model: names for model, names in left.items() if len(names) < floor}


def refusal(short, host, floor):
    """Return one line: what was found, what is needed, what to do."""
    found = "; ".join(
        f"{', '.join(names) or 'nobody'} would serve {model} without {host}"
        for model, names in short.items()
    )
    return (
        f"{host} is not restarted: {found}; needed: {floor} ready (the floor); "
        "do first: undrain or mend the others, then run this again"
    )


if __name__ == "__main__":
    main()
