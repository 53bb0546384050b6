"""What every test starts from."""

import os
import signal

import hypothesis

# How long an example takes says more of what else the machine does than of the code.
hypothesis.settings.register_profile("warmfleet", deadline=None)
hypothesis.settings.load_profile("warmfleet")


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
