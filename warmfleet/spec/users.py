"""Where the users are: listed by hand, in a table, or in the logs of what serves them today."""

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from warmfleet.spec.fields import PathText, Positive, SpecModel, disagree, unique
from warmfleet.spec.units import Percentage

__all__ = ["LoggedUsersSpec", "TabledUsersSpec", "UsersSource", "UsersSpec", "users_agree"]


class UsersSpec(SpecModel):
    """A share of the users at one place."""

    where: str = Field(
        description="province of mainland China such as CN-GD, or a country such as SG"
    )
    share: Annotated[Percentage, Positive] = Field(
        description="share of all users; shares add up to 100%"
    )


class TabledUsersSpec(SpecModel):
    """Users counted in a CSV file."""

    csv: PathText = Field(
        description="file with the columns where, and share, users or requests; absolute or "
        "relative to the project folder"
    )


class LoggedUsersSpec(SpecModel):
    """Users as the logs of a web server have them; only sums by place are kept."""

    access_log: PathText = Field(
        description="log of nginx in the combined format, .gz or not; of several by a pattern such "
        "as logs/access.log*"
    )
    geoip: PathText = Field(
        description="MaxMind database (.mmdb) that has subdivisions, such as GeoLite2 City"
    )


# Tags are no field names: an error's place must not mistake one for a field.
_LISTED = "in a list"
_TAGS = {
    "where": _LISTED,  # one entry without its list
    "csv": "in a table",
    "access_log": "in a log",
    "geoip": "in a log",
}


def _kind(found: Any) -> str:
    if not isinstance(found, dict | SpecModel):
        return _LISTED
    fields = found if isinstance(found, dict) else type(found).model_fields
    return next((tag for field, tag in _TAGS.items() if field in fields), "in a table")


UsersSource = Annotated[
    Annotated[tuple[UsersSpec, ...], Field(min_length=1), Tag(_LISTED)]
    | Annotated[TabledUsersSpec, Tag("in a table")]
    | Annotated[LoggedUsersSpec, Tag("in a log")],
    Discriminator(_kind),
]
"""Any of the kinds."""


def users_agree(users: UsersSource) -> None:
    """Refuse listed shares that are there twice or do not add up.

    Raises:
        PydanticCustomError: with the nearest share that would do.
    """
    if not isinstance(users, tuple):
        return
    unique("users", "where", (user.where for user in users))
    total = sum(user.share.percent for user in users)
    if total != 100:
        last = users[-1]
        nearest = last.share.percent + 100 - total
        hint = f" (the last as {Percentage(nearest)}, for example)" if nearest > 0 else ""
        disagree("users", f"shares add up to {total:f}%; needed 100%{hint}")
