"""Where ``roles/``, ``templates/`` and ``ansible.cfg`` are, in a checkout and in a wheel alike."""

from functools import cache
from pathlib import Path

from warmfleet.errors import ToolMissingError

__all__ = ["content_root", "in_checkout"]

_PACKAGE = Path(__file__).resolve().parent


def in_checkout() -> Path | None:
    """Return the root of the checkout that this package is imported from, None when installed."""
    root = _PACKAGE.parent
    return root if (root / "roles" / "site.yml").is_file() else None


@cache
def content_root() -> Path:
    """Return the folder that holds ``roles``, ``templates`` and ``ansible.cfg``.

    Raises:
        ToolMissingError: neither a packaged copy nor a checkout is there.
    """
    # A checkout is looked at first although a wheel is the usual case: an editable install drops
    # a stale copy of the content beside the package, and the files being edited must win over it.
    if (checkout := in_checkout()) is not None:
        return checkout
    packaged = _PACKAGE / "_content"
    if (packaged / "roles" / "site.yml").is_file():
        return packaged
    msg = f"no roles found beside {_PACKAGE} or in {packaged}; reinstall warmfleet"
    raise ToolMissingError(msg)
