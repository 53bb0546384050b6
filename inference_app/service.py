"""The life of one replica: start, prove warm, serve, drain. The only place that orders these."""

import asyncio
import contextlib
import logging
import signal
import socket
import ssl
import time
from typing import Final

from inference_app.admission import Admission
from inference_app.api_errors import ApiError
from inference_app.data_path import DataPath
from inference_app.engine_client import EngineClient
from inference_app.engines.base import Progress
from inference_app.engines.registry import launcher_for
from inference_app.engines.supervisor import EngineProcess
from inference_app.errors import EngineError, InferenceAppError, WarmupFailedError
from inference_app.ledger import Ledger
from inference_app.listener import Listener
from inference_app.main import create_admin_app, create_app
from inference_app.memory import MemoryGuard
from inference_app.metrics import ServiceMetrics
from inference_app.probe import Prober
from inference_app.quarantine import Quarantine
from inference_app.sd_notify import notify
from inference_app.settings import ServiceSettings
from inference_app.state import ReplicaState, StateMachine
from inference_app.tls import server_context
from inference_app.warmup import Warmup

__all__ = ["Service"]

_logger = logging.getLogger(__name__)
_LAST_ANSWERS_S: Final = 2.0  # for error answers to be sent, once work was cut


class Service:
    """One replica of one model.

    Args:
        settings: everything it needs.
        ledger: running since the process started.
        started: start of the process, on ``time.monotonic``.

    Raises:
        SettingsError: a file of TLS cannot be used.
    """

    def __init__(self, settings: ServiceSettings, ledger: Ledger, started: float) -> None:
        self._settings = settings
        self._ledger = ledger
        self._started = started
        self._tls = None if settings.tls is None else server_context(settings.tls)
        self._machine = StateMachine()
        self._admission = Admission(
            settings.limits.max_in_flight,
            settings.engine.slots,
            per_key=settings.limits.max_in_flight_per_key,
            short_of_memory=MemoryGuard(settings.limits.min_free_bytes),
        )
        self._quarantine = Quarantine(settings.state_dir / "quarantine.json")
        self._metrics = ServiceMetrics(self._machine, self._admission)
        self._stop = asyncio.Event()
        self._launcher = launcher_for(settings)
        self._engine = EngineProcess(self._launcher, self._engine_progress)
        self._client: EngineClient | None = None
        self._rehearsal: Listener | None = None  # what probes go through before there is traffic
        self._traffic: Listener | None = None
        self._admin = Listener(
            create_admin_app(settings, machine=self._machine, ledger=ledger, metrics=self._metrics),
            keep_alive_s=settings.timeouts.keep_alive_s,
            grace_s=_LAST_ANSWERS_S,
            tls=self._tls,
        )

    @property
    def state(self) -> ReplicaState:
        """What the replica is doing."""
        return self._machine.state

    @property
    def traffic_port(self) -> int | None:
        """The bound traffic port, None before it is opened."""
        return None if self._traffic is None else self._traffic.port

    @property
    def admin_port(self) -> int:
        """The bound admin port."""
        return self._admin.port

    def stop(self) -> None:
        """Ask for a drain and an orderly end; more than once is once."""
        self._stop.set()

    async def run(self) -> None:
        """Serve until told to stop.

        Raises:
            SettingsError: another start would not help.
            InferenceAppError: the start failed, or the engine died. The process should end with
                a status that makes the service manager start it again.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        try:
            await self._admin.open(self._settings.admin)
            await self._start_or_stop()
            if not self._stop.is_set():
                await self._serve()
            await self._drain()
        except InferenceAppError as error:
            await self._fail(error)
            raise
        finally:
            await self._end()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    async def _start_or_stop(self) -> None:
        starting = asyncio.create_task(self._start())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
        finally:
            for task in (starting, stopping):
                task.cancel()
            await asyncio.gather(starting, stopping, return_exceptions=True)

    async def _start(self) -> None:
        budget_s = self._settings.warmup.budget_s
        try:
            async with asyncio.timeout(self._started + budget_s - time.monotonic()):
                await self._become_warm()
        except TimeoutError as error:
            msg = f"not warm within {budget_s:g} s; slowest: {self._ledger.slowest()}"
            raise WarmupFailedError(msg) from error
        except (EngineError, WarmupFailedError) as error:
            msg = f"{error}; slowest: {self._ledger.slowest()}"
            raise type(error)(msg) from error
        await self._open_traffic()

    async def _become_warm(self) -> None:
        self._enter(ReplicaState.LOADING, "loading the engine")
        self._ledger.begin("engine_start")
        self._client = await self._engine.start()
        self._enter(ReplicaState.WARMING, "warming")
        self._ledger.begin("first_forward")
        warming = asyncio.create_task(self._prove_warm(self._client))
        died = asyncio.create_task(self._engine.exited())
        try:
            await asyncio.wait({warming, died}, return_when=asyncio.FIRST_COMPLETED)
            if died.done():
                raise EngineError(died.result())
            warming.result()
        finally:
            for task in (warming, died):
                task.cancel()
            await asyncio.gather(warming, died, return_exceptions=True)

    async def _prove_warm(self, client: EngineClient) -> None:
        # Probes are not users: they are counted apart, and the count is thrown away.
        self._rehearsal = self._new_traffic(
            client, ServiceMetrics(self._machine, self._admission), tls=None
        )
        prober = Prober(
            self._rehearsal,
            self._settings.state_dir,
            self._settings.model.name,
            self._launcher.probe_fields,
        )
        async with prober:
            await prober.first_forward()
            await Warmup(self._settings.warmup, prober.probe, self._ledger).run()

    async def _open_traffic(self) -> None:
        self._ledger.begin("ready")
        if self._client is None:
            msg = "traffic cannot open before the engine is ready"
            raise RuntimeError(msg)
        # Kept before it opens: a stop may come while it does, and must close it.
        self._traffic = self._new_traffic(self._client, self._metrics, tls=self._tls)
        await self._traffic.open(self._settings.traffic)
        self._enter(ReplicaState.READY, "serving")
        self._ledger.finish()
        self._metrics.cold_start(self._ledger.durations())
        notify("READY=1")
        _logger.info(
            "event=ready port=%s total_s=%s", self.traffic_port, self._ledger.document()["total_s"]
        )

    async def _serve(self) -> None:
        died = asyncio.create_task(self._engine.exited())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({died, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if died.done():
                self._quarantine.engine_died(by_itself=not self._engine.killed)
                raise EngineError(died.result())
        finally:
            for task in (died, stopping):
                task.cancel()
            await asyncio.gather(died, stopping, return_exceptions=True)

    async def _drain(self) -> None:
        was_ready = self._machine.ready
        notify("STOPPING=1")
        self._enter(ReplicaState.DRAINING, "draining")
        if self._traffic is None or not was_ready:
            self._ledger.finish(failure="told to stop before it was ready")
            return
        # The proxy sees /readyz go first; until then it may still send, and is still served.
        await asyncio.sleep(self._settings.timeouts.probe_interval_s)
        self._traffic.stop_accepting()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._traffic.closed(), self._settings.timeouts.drain_s)
        cut = self._admission.close(_going("this replica is stopping", "unavailable"))
        _logger.info("event=drained cut=%s", cut)
        await self._traffic.closed()

    async def _fail(self, error: InferenceAppError) -> None:
        self._enter(ReplicaState.FAILED, str(error).splitlines()[0])
        self._ledger.finish(failure=str(error))
        self._metrics.cold_start(self._ledger.durations())
        if self._traffic is not None:
            self._admission.close(_going("the engine of this replica died", "engine_lost"))
            self._traffic.stop_accepting()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._traffic.closed(), _LAST_ANSWERS_S)

    async def _end(self) -> None:
        if self._client is not None:
            await self._client.__aexit__(None, None, None)
        await self._engine.stop()
        for listener in (self._traffic, self._rehearsal, self._admin):
            if listener is not None:
                listener.stop_accepting()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(listener.closed(), _LAST_ANSWERS_S)

    def _new_traffic(
        self, client: EngineClient, metrics: ServiceMetrics, *, tls: ssl.SSLContext | None
    ) -> Listener:
        path = DataPath(
            self._settings,
            client,
            self._launcher.request_fields,
            self._admission,
            self._quarantine,
            metrics,
        )
        app = create_app(path, host=socket.gethostname())
        return Listener(
            app,
            keep_alive_s=self._settings.timeouts.keep_alive_s,
            grace_s=self._settings.timeouts.drain_s + _LAST_ANSWERS_S,
            tls=tls,
        )

    def _engine_progress(self, progress: Progress) -> None:
        if progress.phase is not None:
            self._ledger.begin(progress.phase, progress.detail)

    def _enter(self, state: ReplicaState, status: str) -> None:
        self._machine.move(state)
        notify(f"STATUS={status}")
        _logger.info("event=state state=%s", state)


def _going(message: str, code: str) -> ApiError:
    return ApiError(503, f"{message}; send the request again", kind="server_error", code=code)
