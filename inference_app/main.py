"""Composes the two applications: traffic and admin."""

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from inference_app.api_errors import ApiError
from inference_app.data_path import DataPath
from inference_app.identity import IdentityMiddleware
from inference_app.ledger import Ledger
from inference_app.metrics import ServiceMetrics
from inference_app.routes import admin, generate, models
from inference_app.settings import ServiceSettings
from inference_app.state import StateMachine

__all__ = ["create_admin_app", "create_app"]


def create_app(data_path: DataPath, *, host: str) -> FastAPI:
    """Build what clients talk to."""
    app = _bare_app()
    app.state.settings = data_path.settings
    app.state.data_path = data_path
    app.include_router(generate.router)
    app.include_router(models.router)
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)
    app.add_middleware(IdentityMiddleware, host=host)
    return app


def create_admin_app(
    settings: ServiceSettings, *, machine: StateMachine, ledger: Ledger, metrics: ServiceMetrics
) -> FastAPI:
    """Build what the proxy's checks, Prometheus and operators talk to."""
    app = _bare_app()
    app.state.settings = settings
    app.state.machine = machine
    app.state.ledger = ledger
    app.state.metrics = metrics
    app.include_router(admin.router)
    return app


def _bare_app() -> FastAPI:
    return FastAPI(openapi_url=None)  # the API is OpenAI's and is documented there


async def _api_error(_request: Request, error: Exception) -> Response:
    if not isinstance(error, ApiError):
        raise error
    return Response(error.body(), error.status, error.headers(), media_type="application/json")


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    message = f"{request.method} {request.url.path}: {error.detail}"
    converted = ApiError(error.status_code, message, code="unknown_url")
    return await _api_error(request, converted)


async def _unexpected(request: Request, _error: Exception) -> Response:
    converted = ApiError(
        500, "the service failed; its log has the reason", kind="server_error", code="internal"
    )
    return await _api_error(request, converted)
