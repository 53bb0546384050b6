"""The admin port: liveness, readiness, the cold-start ledger, metrics."""

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from inference_app.metrics import CONTENT_TYPE
from inference_app.routes.deps import LedgerDep, MachineDep, MetricsDep, SettingsDep

__all__ = ["router"]

router = APIRouter()


@router.get("/livez")
async def live() -> dict[str, str]:
    """Answer while the process can: it says nothing about traffic."""
    return {"status": "alive"}


@router.get("/readyz")
async def ready(settings: SettingsDep, machine: MachineDep) -> Response:
    """Answer 200 only while traffic may come."""
    document = {
        "state": machine.state.value,
        "model": settings.model.name,
        "revision": settings.revision,
    }
    return JSONResponse(document, 200 if machine.ready else 503)


@router.get("/coldstart")
async def coldstart(ledger: LedgerDep, machine: MachineDep) -> dict[str, object]:
    """Return the account of this start, with the state of now."""
    return {**ledger.document(), "state": machine.state.value}


@router.get("/metrics")
async def metrics(metrics: MetricsDep) -> Response:
    """Return the Prometheus exposition."""
    return Response(metrics.exposition(), media_type=CONTENT_TYPE)
