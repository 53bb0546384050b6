"""The llama.cpp child: builds the server inside xllamacpp and stays until it is told to go.

A process of its own, because loading holds the interpreter's lock and an abort in native code ends
the process: neither may touch the one that answers health checks.
"""

import enum
import json
import signal
import sys
from pathlib import Path
from typing import Any

import xllamacpp

from inference_app.engines.base import OPTIONS_REFUSED
from inference_app.engines.child_output import report
from inference_app.engines.weights import check_weights
from inference_app.errors import EngineError

__all__ = ["main"]


def main() -> int:
    """Serve until a signal ends the process.

    Returns:
        With the reason as progress, 2 for options that llama.cpp does not take, 1 for the rest.
    """
    arguments = json.loads(sys.argv[1])
    try:
        parameters = _parameters(arguments)
    except _OptionError as error:
        report(failure=f"engine.options: {error}")
        return OPTIONS_REFUSED
    except OverflowError as error:  # context, slots, threads or batch
        report(failure=f"engine: found a number that llama.cpp cannot hold: {error}")
        return OPTIONS_REFUSED
    try:
        # Here and not in the service: a long read, or a file that hurts, is the child's alone.
        check_weights(Path(arguments["path"]), arguments["size_bytes"], arguments["sha256"])
    except EngineError as error:
        report(failure=str(error))
        return 1
    try:
        server = xllamacpp.Server(parameters)  # noqa: F841 - it serves while it is held
    except (RuntimeError, TypeError, ValueError) as error:
        report(failure=f"llama.cpp cannot serve {arguments['path']}: {error}")
        return 1
    report(listening=True)
    signal.pause()
    return 0


class _OptionError(Exception):
    pass


def _parameters(arguments: dict[str, Any]) -> xllamacpp.CommonParams:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = arguments["path"]
    parameters.model_alias = {arguments["alias"]}
    parameters.n_ctx = arguments["context_tokens"] * arguments["slots"]  # it is split over slots
    parameters.n_parallel = arguments["slots"]
    parameters.cpuparams.n_threads = arguments["threads"]
    parameters.cpuparams_batch.n_threads = arguments["threads"]
    parameters.n_batch = arguments["batch_tokens"]
    parameters.n_ubatch = arguments["batch_tokens"]
    parameters.n_threads_http = arguments["http_threads"]
    parameters.hostnames = [arguments["socket"]]  # a name that ends in .sock is a Unix socket
    parameters.use_jinja = True
    parameters.ui = False
    parameters.fit_params = False  # the plan has sized it; a silent smaller context is no service
    parameters.cache_ram_mib = 0  # 8 GiB by default, on top of what the plan has counted
    parameters.sse_ping_interval = -1  # a ping before the first token would be a first byte
    parameters.warmup = False  # the service warms with real shapes and accounts for it
    for name, value in arguments["options"].items():
        if not hasattr(parameters, name):
            msg = f"llama.cpp has no {name}"
            raise _OptionError(msg)
        try:
            setattr(parameters, name, _member(getattr(parameters, name), value))
        except (OverflowError, TypeError, ValueError) as error:
            msg = f"{name}: {error}"
            raise _OptionError(msg) from error
    return parameters


def _member(current: object, value: object) -> object:
    """Return the member of an enumeration that a word names, ``mean`` of pooling types."""
    if isinstance(current, enum.Enum) and isinstance(value, str):
        for member in type(current):
            if member.name.lower().endswith(f"_{value.lower()}"):
                return member
        known = ", ".join(member.name.lower() for member in type(current))
        msg = f"found {value!r}; needed the end of one of {known}"
        raise ValueError(msg)
    return value


if __name__ == "__main__":
    sys.exit(main())
