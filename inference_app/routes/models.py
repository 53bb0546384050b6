"""What can be asked: the one model that this replica serves, and the API's description."""

from fastapi import APIRouter

from inference_app.api_errors import ApiError
from inference_app.openapi import document
from inference_app.routes.deps import SettingsDep

__all__ = ["router"]

router = APIRouter()


@router.get("/v1/models")
async def list_models(settings: SettingsDep) -> dict[str, object]:
    """List the served model in OpenAI's form."""
    return {"object": "list", "data": [_entry(settings.model.name)]}


@router.get("/v1/models/{name}")
async def retrieve_model(name: str, settings: SettingsDep) -> dict[str, object]:
    """Return the served model, or 404."""
    if name != settings.model.name:
        message = f"the model {name[:100]!r} does not exist here; served: {settings.model.name}"
        raise ApiError(404, message, param="model", code="model_not_found")
    return _entry(name)


@router.get("/v1/openapi.json")
async def describe(settings: SettingsDep) -> dict[str, object]:
    """Return the OpenAPI document."""
    return document(settings.model.name, settings.limits.max_output_tokens)


def _entry(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "warmfleet"}
