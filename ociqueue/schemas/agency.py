"""Sites in bulk, for a key with the scope `admin`: what is asked for, and what is answered."""

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from kilit.api.cursor import Cursor
from kilit.api.input_model import ONLY_DIGITS, InputModel, LenientInput, Time, line
from kilit.sites.schemas.operations import DRY_RUN, MOST_ITEMS, MOST_LISTED, PublicId
from ociqueue.states import DeniedConsent, SyncMethod


class SiteToStore(InputModel):
    """A site to create or change. What is absent or null stays as it is."""

    publicId: Annotated[str, line(64), Field(description="Of a site that exists.")] | None = None
    name: (
        Annotated[str, line(100), Field(description="Without a public id, the site is recognised by its name.")] | None
    ) = None
    customerId: Annotated[str, line(20), Field(examples=["123-456-7890"])] | None = None
    currency: Annotated[str, line(3), Field(description="For conversions without one.", examples=["TRY"])] | None = None
    timeZone: Annotated[str, line(64), Field(examples=["Europe/Istanbul"])] | None = None
    sender: Annotated[SyncMethod, Field(description="Of a new site; it is changed on the site's page.")] | None = Field(
        None, strict=False
    )
    requeueTransient: bool | None = None
    acceptIdentifiers: bool | None = None
    deniedConsent: DeniedConsent | None = Field(None, strict=False)


class SitesRequest(InputModel):
    """Sites to create or change: all of them, or none if one is invalid."""

    sites: Annotated[list[SiteToStore], Field(min_length=1, max_length=MOST_ITEMS)]
    dryRun: Annotated[bool, DRY_RUN] = False

    examples = {
        "a new site": {"sites": [{"name": "Deniz Mobilya", "customerId": "123-456-7890", "currency": "TRY"}]},
    }


class SitesQuery(LenientInput):
    state: Literal["active", "archived", "all"] = "active"
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED), ONLY_DIGITS] = 200
    cursor: Cursor | None = None


class ManagedSite(TypedDict):
    """A site with its settings and its state."""

    publicId: PublicId
    name: str
    customerId: Annotated[str, Field(description="Ten digits, or empty.")]
    currency: str
    timeZone: str
    sender: SyncMethod
    requeueTransient: bool
    acceptIdentifiers: bool
    deniedConsent: DeniedConsent
    isPaused: bool
    pauseReason: str
    archivedAt: Time | None
    lastExportAt: Annotated[Time | None, Field(description="When its script last asked for conversions.")]
    lastAckAt: Time | None
    createdAt: Time


class ManagedSites(TypedDict):
    """The sites that the key's user administers, the oldest first."""

    sites: list[ManagedSite]
    nextCursor: str | None


class ValueChange(TypedDict):
    before: Any
    after: Any


class SiteStored(TypedDict):
    """What became of one site; a new one has a public id once it is stored."""

    index: int
    status: Literal["created", "changed", "unchanged"]
    publicId: PublicId | None
    name: str
    isArchived: bool
    changes: dict[str, ValueChange]


class SitesStored(TypedDict):
    """What was changed, or would be; the results are in the order of the request."""

    dryRun: bool
    created: int
    changed: int
    unchanged: int
    results: list[SiteStored]
