"""Command for test machines: hosts like the lab's, outside any stack."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from warmfleet.errors import WarmfleetError
from warmfleet.provider.backend import HostSpec, NetworkSpec
from warmfleet.provider.image import ensure_image
from warmfleet.provider.podman import Podman

__all__ = ["main"]

_ENVIRONMENT = "molecule"


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``create`` or ``remove``; return the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(Podman(), arguments)
    except WarmfleetError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a command
        return error.exit_status
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m warmfleet.provider.podman", description=__doc__
    )
    verbs = parser.add_subparsers(required=True)

    create = verbs.add_parser(
        "create", help="make and start hosts; what is there and the same stays"
    )
    create.add_argument("names", nargs="+", metavar="NAME")
    create.add_argument("--network", help="bridge network, made when absent (needs --subnet then)")
    create.add_argument("--subnet", help="such as 192.0.2.0/24")
    create.add_argument("--ip", help="address in the network; for one host only")
    create.add_argument(
        "--publish",
        action="append",
        default=[],
        metavar="127.0.0.1:PORT:HOST_PORT",
        type=_published_port,
        help="for one host only",
    )
    create.add_argument(
        "--privileged", action="store_true", help="for loop devices and sysctl vm.*"
    )
    create.add_argument(
        "--authorized-key", type=Path, metavar="FILE", help="public key let in as root"
    )
    create.add_argument("--image", help="instead of the host image")
    create.set_defaults(run=_create)

    remove = verbs.add_parser("remove", help="end hosts, and the network when named")
    remove.add_argument("names", nargs="+", metavar="NAME")
    remove.add_argument("--network")
    remove.set_defaults(run=_remove)
    return parser


def _create(podman: Podman, arguments: argparse.Namespace) -> None:
    image = arguments.image or ensure_image(lambda line: print(line, file=sys.stderr))  # noqa: T201
    key = arguments.authorized_key.read_text().strip() if arguments.authorized_key else None
    if arguments.network and arguments.subnet:
        podman.create_network(
            NetworkSpec(name=arguments.network, environment=_ENVIRONMENT, subnet=arguments.subnet)
        )
    specs = [
        HostSpec(
            name=name,
            hostname=name,
            environment=_ENVIRONMENT,
            image=image,
            network=arguments.network,
            private_address=arguments.ip,
            published_ports=dict(arguments.publish),
            privileged=arguments.privileged,
        )
        for name in arguments.names
    ]
    for spec in specs:
        podman.create_host(spec)
    for spec in specs:  # Second, so that they all start meanwhile.
        podman.open_host(spec.name, key)


def _remove(podman: Podman, arguments: argparse.Namespace) -> None:
    for name in arguments.names:
        podman.remove_host(name)
    if arguments.network:
        podman.remove_network(arguments.network)


def _published_port(text: str) -> tuple[int, int]:
    address, _, ports = text.partition(":")
    outside, _, inside = ports.partition(":")
    if address != "127.0.0.1" or not outside.isdigit() or not inside.isdigit():
        msg = f"{text!r} is not 127.0.0.1:PORT:HOST_PORT"
        raise argparse.ArgumentTypeError(msg)
    return int(inside), int(outside)
