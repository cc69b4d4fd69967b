"""A site's counts beside Google's, by day and conversion action."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from kilit.api.input_model import Time
from kilit.sites.schemas.operations import PublicId

Difference = Literal["MISSING", "STILL_PENDING", "MORE", "OTHER_CLIENT", "MORE_FAILED"]


class GoogleNumbers(TypedDict):
    successful: int
    failed: int
    pending: int


class ActionDay(TypedDict):
    """One conversion action on one day of the account's time zone."""

    day: str
    action: Annotated[str, Field(description="The name of the conversion action.")]
    accepted: Annotated[int, Field(description="What was sent and accepted.")]
    failed: Annotated[int, Field(description="What was sent and refused.")]
    unknown: Annotated[int, Field(description="What was sent, and whether Google received it is not known.")]
    google: GoogleNumbers
    findings: Annotated[list[Difference], Field(description="MISSING and STILL_PENDING are differences.")]


class GoogleCounts(TypedDict):
    """The last reading of Google's counts, and what comparing it with ours found."""

    siteId: PublicId
    readAt: Time | None
    comparedAt: Time | None
    error: Annotated[str, Field(description="Why the last reading failed, if it did.")]
    differs: bool
    actions: list[ActionDay]
