"""The body of a request as fields: JSON that any engine reads, for the model that is served."""

import json
from typing import Any

from pydantic import BaseModel, ValidationError

from inference_app.api_errors import ApiError
from inference_app.problems import problems, written

__all__ = ["read_fields", "write_fields"]


def read_fields(raw: bytes, *, model: str, form: type[BaseModel]) -> dict[str, Any]:
    """Read a body, and hold it to the served model and to the documented form.

    Raises:
        ApiError: 400 or 404 in OpenAI's form, naming the field.
    """
    fields = _object(raw)
    _check_model(fields.get("model"), model)
    try:
        form.model_validate(fields)
    except ValidationError as error:
        where, said = next(iter(problems(error, form, fields).items()))
        place = written(where)
        raise ApiError(400, f"{place}: {said}", param=place) from error
    return fields


def write_fields(fields: dict[str, Any]) -> bytes:
    """Return the body for the engine.

    Raises:
        ApiError: 400, it cannot be written as JSON again.
    """
    try:
        return json.dumps(fields, allow_nan=False).encode()
    except RecursionError as error:  # it was read a little less deep in the stack
        raise _no_json("nested too deep") from error
    except ValueError as error:
        raise _no_json("it holds a number that is too large") from error


def _object(raw: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(raw.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise _no_json(f"not UTF-8 text (byte {error.start})") from error
    except RecursionError as error:
        raise _no_json("nested too deep") from error
    except ValueError as error:
        raise _no_json(str(error)) from error
    if not isinstance(fields, dict):
        raise ApiError(400, "the body must be a JSON object", code="invalid_json")
    return fields


def _no_json(reason: str) -> ApiError:
    return ApiError(400, f"the body is not JSON: {reason}", code="invalid_json")


def _refuse_constant(found: str) -> None:
    msg = f"found {found}; needed a finite number"
    raise ValueError(msg)


def _check_model(asked: object, served: str) -> None:
    if not isinstance(asked, str) or not asked:
        raise ApiError(400, f"name the model: {served}", param="model")
    if asked != served:
        raise ApiError(
            404,
            f"the model {asked[:100]!r} does not exist here; served: {served}",
            param="model",
            code="model_not_found",
        )
