"""What every test starts from."""

import signal


def pytest_configure() -> None:
    """Take signals as at a terminal: who starts tests in the background may have them ignored.

    Children inherit that, and a child that ignores Ctrl-C or a hangup cannot be seen to act on it.
    """
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_DFL),
    ):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)
