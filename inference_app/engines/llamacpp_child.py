"""The llama.cpp child: builds the server inside xllamacpp and stays until it is told to go.

A process of its own, because loading holds the interpreter's lock and an abort in native code ends
the process: neither may touch the one that answers health checks.
"""

import json
import signal
import sys
from typing import Any

import xllamacpp

from inference_app.engines.base import OPTIONS_REFUSED
from inference_app.engines.child_output import report
from inference_app.engines.parent_death import die_with_parent

__all__ = ["main"]


def main() -> int:
    """Serve until a signal ends the process.

    Returns:
        With the reason as progress, 2 for options that llama.cpp does not take, 1 for the rest.
    """
    die_with_parent()
    arguments = json.loads(sys.argv[1])
    try:
        parameters = _parameters(arguments)
    except _OptionError as error:
        report(failure=f"engine.options: {error}")
        return OPTIONS_REFUSED
    try:
        server = xllamacpp.Server(parameters)
    except (RuntimeError, TypeError, ValueError) as error:
        report(failure=f"llama.cpp cannot serve {arguments['path']}: {error}")
        return 1
    report(address=server.listening_address)
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
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
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
            setattr(parameters, name, value)
        except (OverflowError, TypeError, ValueError) as error:
            msg = f"{name}: {error}"
            raise _OptionError(msg) from error
    return parameters


if __name__ == "__main__":
    sys.exit(main())
