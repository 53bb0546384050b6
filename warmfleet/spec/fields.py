"""What all parts of a spec are made of: strict models, names, checks with what is needed."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from inference_app.problems import shown

__all__ = ["Name", "PathText", "Positive", "SpecModel", "bound", "checked", "disagree", "unique"]


class SpecModel(BaseModel):
    """A part of a spec."""

    # Strict: YAML has types, and `port: true` is a mistake rather than port 1.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


def bound(said: str) -> PydanticCustomError:
    """Return the error of one field: ``found X; needed Y``."""
    return PydanticCustomError("bound", "{said}", {"said": said})


def checked(holds: Callable[[Any], bool], needed: str) -> AfterValidator:
    """Return a check that refuses what does not hold, with what is needed."""

    def check(found: Any) -> Any:
        if not holds(found):
            raise bound(f"found {shown(str(found))}; needed {needed}")
        return found

    return AfterValidator(check)


def disagree(path: str, said: str) -> NoReturn:
    """Refuse a field because of another one.

    Raises:
        PydanticCustomError: always; ``path`` is the field below the model that checks.
    """
    raise PydanticCustomError("disagree", "{said}", {"said": said, "path": path})


def unique(at: str, field: str, names: Iterable[str]) -> None:
    """Refuse a name that is there twice in the list ``at``."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            disagree(f"{at}[{index}].{field}", f"found {name!r} twice; needed each once")
        seen.add(name)


def _is_name(text: str) -> bool:
    plain = text.replace("-", "")
    return text.isascii() and plain.isalnum() and text == text.lower() and text[:1].isalpha()


# Names become parts of paths, unit names and container names.
Name = Annotated[
    str,
    Field(max_length=31),
    checked(_is_name, "a name of lower-case letters, digits and '-' that starts with a letter"),
]

PathText = Annotated[
    str, Field(min_length=1, max_length=1024), checked(lambda text: "\0" not in text, "a path")
]

Positive = checked(lambda found: found.value > 0, "more than zero")
