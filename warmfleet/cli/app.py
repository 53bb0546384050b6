"""The group of all commands: loads a command when it is asked for, turns errors into one line."""

import errno
import functools
import gc
import importlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from warmfleet import logs
from warmfleet.cli import output
from warmfleet.cli.commands import COMMANDS
from warmfleet.errors import DiskFullError, WarmfleetError

__all__ = ["DEBUG_VARIABLE", "main"]

DEBUG_VARIABLE = "WARMFLEET_DEBUG"
"""Set to anything: unexpected errors show their traceback, as ``--verbose`` does."""

_FAILED, _USAGE, _SIGNALLED = 1, 2, 128

_OBJECTS_BETWEEN_COLLECTIONS = 500_000
"""More than a plan of one site makes; what runs for long still has its garbage collected."""


class _LazyGroup(click.Group):
    """Imports a command's module only to run it: help must not wait for Pulumi or Ansible."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        # Else pydantic looks through every installed distribution for plugins, a tenth of the time
        # that a plan may take; ours has no use for one.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        module = importlib.import_module(COMMANDS[cmd_name].module)
        command = getattr(module, cmd_name)
        if not isinstance(command, click.Command):
            msg = f"{module.__name__}.{cmd_name} is not a command"
            raise TypeError(msg)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        arguments = list(sys.argv[1:] if args is None else args)
        run = functools.partial(
            super().main,
            arguments,
            prog_name,
            complete_var,
            standalone_mode=False,
            windows_expand_args=windows_expand_args,
            **extra,
        )
        if not standalone_mode:
            return run()
        # Nearly all that a command makes it keeps; looking for garbage in it, again and again while
        # modules are imported, is a tenth of the time that a plan may take.
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        with _end_signals_as_interrupt() as received:
            sys.exit(_guarded(run, arguments, received))


@contextmanager
def _end_signals_as_interrupt() -> Iterator[list[int]]:
    """Make SIGTERM and SIGHUP do what Ctrl-C does: children are ended in order. Yields them.

    Only the first one counts: a terminal that closes and ``make`` that is ended send several.
    """
    received: list[int] = []

    def interrupt(number: int, frame: Any) -> None:
        received.append(number)
        if len(received) == 1:
            # Whoever runs children may have a handler of its own; a shell's "&" ignores SIGINT.
            current = signal.getsignal(signal.SIGINT)
            (current if callable(current) else signal.default_int_handler)(signal.SIGINT, frame)

    mine: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():
        both = (signal.SIGTERM, signal.SIGHUP)
        mine = [number for number in both if signal.getsignal(number) == signal.SIG_DFL]
    for number in mine:
        signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


def _guarded(run: Callable[[], Any], arguments: list[str], received: list[int]) -> int:
    """Run, and return the exit status; whatever goes wrong is one line on stderr."""
    as_json = _asks_for_json(arguments)
    try:
        result = run()
    except WarmfleetError as error:
        output.print_error(error.code, str(error), as_json=as_json)
        return error.exit_status
    except click.UsageError as error:
        where = f"; see: {error.ctx.command_path} --help" if error.ctx is not None else ""
        message = error.format_message().rstrip(".")
        output.print_error("usage", f"{message}{where}", as_json=as_json)
        return _USAGE
    except click.ClickException as error:
        output.print_error("usage", error.format_message(), as_json=as_json)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        output.print_error("interrupted", "interrupted", as_json=as_json)
        return _SIGNALLED + (received[0] if received else signal.SIGINT)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            full = error.filename or output.current_log_file() or "the project or of /tmp"
            message = f"no space is left on the disk of {full}; make room and run it again"
            output.print_error(DiskFullError.code, message, as_json=as_json)
            return DiskFullError.exit_status
        if error.errno != errno.EPIPE:
            return _unexpected(error, as_json=as_json)
        # The reader (head, less) went away. Python would complain once more while it flushes.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives to the end
        return _FAILED
    except Exception as error:  # noqa: BLE001 - the edge: nobody is meant to read a traceback
        return _unexpected(error, as_json=as_json)
    # Without standalone mode click returns what ctx.exit() was given, and a command's own result.
    return result if isinstance(result, int) else 0


def _unexpected(error: Exception, *, as_json: bool) -> int:
    detail = str(error).strip().splitlines()
    said = f": {detail[0]}" if detail else ""
    logging.getLogger(__name__).debug("unexpected error", exc_info=error)
    log_file = output.current_log_file()
    hint = f"details in {log_file}" if log_file else f"set {DEBUG_VARIABLE}=1 for details"
    message = f"unexpected {type(error).__name__}{said}; this is a fault in warmfleet; {hint}"
    output.print_error("unexpected", message, as_json=as_json)
    return _FAILED


def _asks_for_json(arguments: list[str]) -> bool:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _settings() -> MutableMapping[str, Any]:
    return {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=_LazyGroup, context_settings=_settings())
@click.version_option(package_name="warmfleet", message="warmfleet %(version)s")
@click.option("-v", "--verbose", is_flag=True, help="Show every detail, tracebacks too, on stderr.")
def main(verbose: bool) -> None:
    """From a description of a workload to a warm, tested, monitored inference endpoint.

    Results go to stdout, progress and logs to stderr. Exit status: 0 fine, 1 failed, 2 usage,
    3 differs, 4 refused by policy.
    """
    logs.configure(verbose=verbose or bool(os.environ.get(DEBUG_VARIABLE)))
