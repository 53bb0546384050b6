"""The program ``pulumi-resource-warmfleet`` that the Pulumi engine starts."""

import argparse

import warmfleet
from warmfleet.provider.podman import Podman
from warmfleet.provider.provider import WarmfleetProvider
from warmfleet.provider.server import run

__all__ = ["main"]


def main() -> None:
    """Serve the provider to the engine at the address given as first argument."""
    parser = argparse.ArgumentParser(prog="pulumi-resource-warmfleet", description=__doc__)
    parser.add_argument("engine", help="address of the Pulumi engine")
    arguments, _ = parser.parse_known_args()  # the engine adds flags for its own log
    run(WarmfleetProvider(Podman()), warmfleet.__version__, arguments.engine)


if __name__ == "__main__":
    main()
