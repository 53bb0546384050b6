"""Serves a provider to the engine, with errors of one line.

The SDK's servicer appends a Python stack to every exception before a user sees it. This one sends
a message that was written to be read as it is, and marks everything else as our fault.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
from pulumi.provider.experimental.provider import Provider
from pulumi.provider.experimental.server import ProviderServicer
from pulumi.runtime._grpc_settings import _GRPC_CHANNEL_OPTIONS
from pulumi.runtime.proto import provider_pb2_grpc

from warmfleet.errors import WarmfleetError

__all__ = ["ReadableServicer", "make_server", "run"]

_Method = Callable[[Any, Any, Any], Awaitable[Any]]

_GRACE_S = 2.0
_POLL_S = 1.0

_log = logging.getLogger(__name__)


def _readable(method: _Method) -> _Method:
    async def call(self: Any, request: Any, context: Any) -> Any:
        try:
            return await method(self, request, context)
        except Exception as wrapped:  # noqa: BLE001 - the edge to another process
            # The SDK raises a new exception from inside its handler of the real one.
            error = wrapped.__context__ or wrapped
            if isinstance(error, WarmfleetError):
                return await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
            _log.debug("%s failed", method.__name__, exc_info=error)
            message = f"internal error of the provider: {type(error).__name__}: {error}"
            return await context.abort(grpc.StatusCode.INTERNAL, " ".join(message.split()))

    return call


class ReadableServicer(ProviderServicer):
    """The SDK's servicer with readable errors."""

    GetSchema = _readable(ProviderServicer.GetSchema)
    Configure = _readable(ProviderServicer.Configure)
    Check = _readable(ProviderServicer.Check)
    Diff = _readable(ProviderServicer.Diff)
    Create = _readable(ProviderServicer.Create)
    Read = _readable(ProviderServicer.Read)
    Update = _readable(ProviderServicer.Update)
    Delete = _readable(ProviderServicer.Delete)


def make_server(
    provider: Provider, version: str, engine_address: str = ""
) -> tuple[grpc.aio.Server, int]:
    """Return a server, not started yet, and its port on 127.0.0.1."""
    server = grpc.aio.server(options=_GRPC_CHANNEL_OPTIONS)
    servicer = ReadableServicer([], version, provider, engine_address)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    return server, server.add_insecure_port("127.0.0.1:0")


def run(provider: Provider, version: str, engine_address: str) -> None:
    """Serve until a signal asks to end; the port goes to stdout, where the engine reads it."""
    asyncio.run(_serve(provider, version, engine_address))


async def _serve(provider: Provider, version: str, engine_address: str) -> None:
    server, port = make_server(provider, version, engine_address)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    engine = os.getppid()
    # An engine that was killed sends no signal; without it nobody would end this process.
    while not ended.is_set() and os.getppid() == engine:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), _POLL_S)
    await provider.cancel()
    await server.stop(grace=_GRACE_S)
