"""The API as an OpenAPI document, made of the same types that requests are held to."""

from functools import cache
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from inference_app.endpoints import ENDPOINTS, Endpoint
from inference_app.gate_headers import TIME_LIMIT_HEADER

__all__ = ["document"]

_REF: Final = "#/components/schemas/{model}"
_ERRORS: Final = {
    "400": "The request is at fault; `param` names the field",
    "404": "There is no such model, or no such path",
    "405": "The path has no such method",
    "408": "The body did not arrive in time",
    "413": "The body is too large",
    "422": "This same request ended the engine before",
    "429": "Too much is in flight; `Retry-After` says when it will not be",
    "500": "The engine failed",
    "502": "The engine answered nonsense",
    "503": "The replica stops, lost its engine or is short of memory",
    "504": "It took longer than it may",
}


class _Error(BaseModel):
    message: str
    type: str
    param: str | None
    code: str | None


class Failure(BaseModel):
    """Any answer that is no success, in OpenAI's form."""

    error: _Error


@cache
def document(model: str, max_output_tokens: int) -> dict[str, Any]:
    """Return the document of a replica.

    Args:
        model: the name that is served.
        max_output_tokens: of the longest answer.
    """
    forms = [endpoint.form for endpoint in ENDPOINTS]
    inputs = [(form, "validation") for form in (*forms, Failure)]
    refs, schemas = models_json_schema(inputs, ref_template=_REF)  # type: ignore[arg-type]
    error = refs[Failure, "validation"]
    paths: dict[str, Any] = {
        endpoint.path: {
            "post": _operation(
                endpoint,
                [refs[endpoint.form, "validation"], _gate_fields(model, max_output_tokens)],
                error,
            )
        }
        for endpoint in ENDPOINTS
    }
    named = {"enum": [model]}
    paths["/v1/models"] = {"get": _read("listModels", "List the served model", error)}
    paths["/v1/models/{model}"] = {
        "get": _read("retrieveModel", "Return the served model", error)
        | {"parameters": [{"name": "model", "in": "path", "required": True, "schema": named}]}
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Warmfleet inference", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }


def _operation(
    endpoint: Endpoint, forms: list[dict[str, Any]], error: dict[str, Any]
) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": {"type": "object"}}}
    if endpoint.assembly is not None:
        content["text/event-stream"] = {"schema": {"type": "string"}}
    return {
        "operationId": endpoint.path.removeprefix("/v1/").replace("/", "_"),
        "summary": endpoint.summary,
        "parameters": [
            {
                "name": TIME_LIMIT_HEADER,
                "in": "header",
                "description": "seconds that this request allows, waiting included",
                "schema": {"type": "number", "minimum": 1},
            }
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"allOf": forms}}},
        },
        "responses": {"200": {"description": "The answer", "content": content}, **_errors(error)},
    }


def _gate_fields(model: str, max_output_tokens: int) -> dict[str, Any]:
    length = {"type": ["integer", "null"], "minimum": 1, "maximum": max_output_tokens}
    return {
        "type": "object",
        "required": ["model"],
        "properties": {
            "model": {"enum": [model], "description": "the name that is served"},
            "max_tokens": length,
            "max_completion_tokens": length,
        },
    }


def _read(name: str, summary: str, error: dict[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": {"type": "object"}}}
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": {"description": "Found", "content": content}, **_errors(error)},
    }


def _errors(error: dict[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": error}}
    return {status: {"description": said, "content": content} for status, said in _ERRORS.items()}
