"""``python -m inference_app SETTINGS.json``: exit 0 after a drain, 1 failed, 2 wrong settings."""

import sys
import time

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Run one service; return the exit status."""
    imports_began = time.monotonic()
    from inference_app.run import run_service  # not at the top: the ledger accounts for it

    return run_service(arguments, imports_began)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
