"""A project beside the checkout's own: the lab's spec with another name, ports and network."""

import shutil
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Addresses", "own_project"]

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Addresses:
    """Where an environment is; what the lab uses is the default of none of them."""

    port: int
    ssh_port: int
    subnet_prefix: str


def own_project(folder: Path, environment: str, addresses: Addresses) -> Path:
    """Return the project folder; wheels and weights are the checkout's, nothing else is."""
    (folder / "specs").mkdir(parents=True)
    (folder / "plans").mkdir()
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(ROOT / "stacks" / name, folder / name)
    own = (ROOT / "stacks/specs/lab.yaml").read_text()
    for lab, ours in {
        "8443": str(addresses.port),
        "2210": str(addresses.ssh_port),
        "10.89.77.": addresses.subnet_prefix,
        "\nname: lab ": f"\nname: {environment} ",
    }.items():
        assert own.count(lab) == 1, f"the lab's spec has no single {lab!r}"
        own = own.replace(lab, ours)
    (folder / "specs" / f"{environment}.yaml").write_text(own)
    (folder.parent / ".venv").symlink_to(ROOT / ".venv")  # Pulumi.yaml finds the provider there
    # What was downloaded once for this checkout serves here too; nothing in it belongs to a fleet.
    state = folder / ".warmfleet"
    state.mkdir(mode=0o700)
    for name in ("wheelhouse", "weights"):
        shared = ROOT / "stacks/.warmfleet" / name
        shared.mkdir(mode=0o700, parents=True, exist_ok=True)
        (state / name).symlink_to(shared)
    return folder
