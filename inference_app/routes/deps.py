"""What routes ask for, as annotated aliases.

All are coroutines: FastAPI runs plain functions in threads, four hops for each request.
"""

from typing import Annotated, cast

from fastapi import Depends, Request

from inference_app.ledger import Ledger
from inference_app.metrics import ServiceMetrics
from inference_app.settings import ServiceSettings
from inference_app.state import StateMachine

__all__ = [
    "LedgerDep",
    "MachineDep",
    "MetricsDep",
    "SettingsDep",
]


async def _settings(request: Request) -> ServiceSettings:
    return cast(ServiceSettings, request.app.state.settings)


async def _metrics(request: Request) -> ServiceMetrics:
    return cast(ServiceMetrics, request.app.state.metrics)


async def _machine(request: Request) -> StateMachine:
    return cast(StateMachine, request.app.state.machine)


async def _ledger(request: Request) -> Ledger:
    return cast(Ledger, request.app.state.ledger)


SettingsDep = Annotated[ServiceSettings, Depends(_settings)]
MetricsDep = Annotated[ServiceMetrics, Depends(_metrics)]
MachineDep = Annotated[StateMachine, Depends(_machine)]
LedgerDep = Annotated[Ledger, Depends(_ledger)]
