"""What is known of the users: shares by place, and what was counted to get them."""

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field

from warmfleet.catalog.models import Place
from warmfleet.spec.users import UsersSource

__all__ = ["CountedUsers", "UserFacts", "UserShare"]


class UserFacts(Struct, frozen=True):
    """A share of the users and where they are."""

    place: Place
    fraction: float


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class UserShare(_Facts):
    """Users at one place of the catalog."""

    where: str
    share: float = Field(gt=0, le=1, description="of all users that were located")


class CountedUsers(_Facts):
    """Users that a file counts; sums alone, no address is kept."""

    source: UsersSource = Field(description="as the spec says it: other facts for another source")
    shares: tuple[UserShare, ...] = Field(min_length=1, description="most first")
    counted: dict[str, int] = Field(
        min_length=1, description="rows of a table, or requests of a log by what became of them"
    )
    told: tuple[str, ...] = Field(description="what a reader must know of these shares")
