"""What every test starts from."""

import os
import signal


def pytest_configure() -> None:
    """Take nothing from who starts the tests that would change what they see."""
    # Started in the background, signals may be ignored, and children inherit that: one that ignores
    # Ctrl-C or a hangup cannot be seen to act on it.
    # Make names the project of this checkout; a test that means another must not get that one.
    os.environ.pop("WARMFLEET_PROJECT", None)
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_DFL),
    ):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)
