"""A small Python language host for the Pulumi engine.

The official host comes with Pulumi's release archive. Where only package registries are reachable
the engine can be built from its Go module but the official host cannot, so this one, made of what
the ``pulumi`` Python package itself carries, takes its place. It serves ``up``, ``preview``,
``refresh`` and ``destroy`` of programs, and policy packs.

The engine starts it with its own address, reads a port from its first line of stdout and then
speaks ``LanguageRuntime`` (gRPC). Programs run in this interpreter: it is the environment that the
project's programs are installed in, so there is nothing to choose and nothing to install.
"""

import os
import queue
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import grpc
from pulumi.automation._server import LanguageServer
from pulumi.runtime._grpc_settings import _GRPC_CHANNEL_OPTIONS
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

_POLL_S = 1.0


class PythonHost(LanguageServer):
    """What the SDK's host for inline programs lacks; method names are the protocol's."""

    def __init__(self, engine_address: str) -> None:
        super().__init__(program=lambda: None)
        self._engine_address = engine_address

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        """Learn the engine's address."""
        self._engine_address = request.engine_address or self._engine_address
        return language_pb2.LanguageHandshakeResponse()

    def Run(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Run a program: a folder with ``__main__.py``, or a file."""
        folder = Path(request.info.program_directory or request.pwd)
        program = folder / (request.info.entry_point or request.program or ".")
        os.chdir(request.pwd or folder)
        arguments = list(request.args)
        self.program = lambda: _run(program, arguments)
        del request.args[:]
        request.args.append(self._engine_address)
        return super().Run(request, context)  # type: ignore[no-untyped-call]

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        """Tell the version: that of the SDK."""
        return plugin_pb2.PluginInfo(version=metadata.version("pulumi"))

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802, ARG002
        """Install nothing: the environment is made by ``make venv``, with locked hashes."""
        yield from ()

    def RuntimeOptionsPrompts(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        """Offer no choice of tool chain."""
        return language_pb2.RuntimeOptionsResponse()

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:  # noqa: N802, ARG002
        """List the distributions of this environment."""
        found = {item.metadata["Name"]: item.version for item in metadata.distributions()}
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[
                language_pb2.DependencyInfo(name=name, version=found[name])
                for name in sorted(found)
            ]
        )

    def RunPlugin(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        """Run a plugin written in Python and stream its output, then its exit code."""
        folder = request.info.program_directory or request.program
        command = [sys.executable, "-u"]
        if request.kind == "analyzer":
            command += ["-m", "pulumi.policy", *request.args, folder]
        else:
            command += [folder, *request.args]
        environment = os.environ | dict(item.split("=", 1) for item in request.env)
        with subprocess.Popen(
            command,
            cwd=request.pwd or None,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as plugin:
            context.add_callback(plugin.terminate)
            yield from _output(plugin)
            yield language_pb2.RunPluginResponse(exitcode=plugin.wait())


def main() -> None:
    """Serve until the engine ends this process or goes away."""
    # The engine passes flags of its own first; the last argument is its address.
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    engine = os.getppid()
    server = grpc.server(ThreadPoolExecutor(max_workers=8), options=_GRPC_CHANNEL_OPTIONS)
    host = PythonHost(addresses[-1] if addresses else "")
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    while not ended.wait(_POLL_S) and os.getppid() == engine:
        pass
    server.stop(grace=None)
    # A program that waits for a vanished engine must not keep this process.
    os._exit(0)


def _run(program: Path, arguments: list[str]) -> None:
    sys.argv = [str(program), *arguments]
    runpy.run_path(str(program), run_name="__main__")


def _output(plugin: subprocess.Popen[bytes]) -> Iterator[Any]:
    """Yield what the plugin writes, from both streams, as it comes."""
    chunks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    readers = [
        threading.Thread(target=_read, args=(plugin.stdout, _stdout, chunks)),
        threading.Thread(target=_read, args=(plugin.stderr, _stderr, chunks)),
    ]
    for reader in readers:
        reader.start()
    for _ in readers:
        yield from iter(chunks.get, None)


def _read(
    stream: IO[bytes], response: Callable[[bytes], Any], chunks: "queue.SimpleQueue[Any]"
) -> None:
    while chunk := os.read(stream.fileno(), 4096):
        chunks.put(response(chunk))
    chunks.put(None)


def _stdout(chunk: bytes) -> Any:
    return language_pb2.RunPluginResponse(stdout=chunk)


def _stderr(chunk: bytes) -> Any:
    return language_pb2.RunPluginResponse(stderr=chunk)


if __name__ == "__main__":
    main()
