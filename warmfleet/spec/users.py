"""Where the users are."""

from typing import Annotated

from pydantic import Field

from warmfleet.spec.fields import Positive, SpecModel, disagree, unique
from warmfleet.spec.units import Percentage

__all__ = ["UsersSource", "UsersSpec", "users_agree"]


class UsersSpec(SpecModel):
    """A share of the users at one place."""

    where: str = Field(
        description="province of mainland China such as CN-GD, or a country such as SG"
    )
    share: Annotated[Percentage, Positive] = Field(
        description="share of all users; shares add up to 100%"
    )


UsersSource = Annotated[tuple[UsersSpec, ...], Field(min_length=1)]


def users_agree(users: UsersSource) -> None:
    """Refuse listed shares that are there twice or do not add up.

    Raises:
        PydanticCustomError: with the nearest share that would do.
    """
    unique("users", "where", (user.where for user in users))
    total = sum(user.share.percent for user in users)
    if total != 100:
        last = users[-1]
        nearest = last.share.percent + 100 - total
        hint = f" (the last as {Percentage(nearest)}, for example)" if nearest > 0 else ""
        disagree("users", f"shares add up to {total:f}%; needed 100%{hint}")
