"""The service manager's notification protocol: one datagram a message; no manager, no message."""

import os
import socket

__all__ = ["notify"]


def notify(*assignments: str) -> bool:
    """Tell systemd, for example ``notify("READY=1", "STATUS=serving")``.

    Returns:
        False where no manager listens (a shell, a test).
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.connect(address)
        manager.sendall("\n".join(assignments).encode())
    return True
