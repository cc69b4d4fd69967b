"""The responses of the conversion queue's API as types; tests check every response against them."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from kilit.api.input_model import FieldError, Time
from kilit.sites.schemas.operations import PublicId
from ociqueue.models.adjustment import ADJUSTMENT_PREFIX
from ociqueue.models.conversion import PREFIX
from ociqueue.schemas.conversions import ConsentGiven
from ociqueue.states import Category, ConversionStatus


def id_schema(prefix: str, description: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{prefix}[0-9a-f-]{{36}}$", "description": description})


ConversionId = Annotated[str, id_schema(PREFIX, "The id of a conversion.")]
AdjustmentId = Annotated[str, id_schema(ADJUSTMENT_PREFIX, "The id of an adjustment.")]


class ConversionResult(TypedDict):
    """The result for one conversion; `defaulted` lists fields that got the site's default.

    `differs` lists the fields in which a second delivery of a source key differs from what was stored. A `corrected`
    one has changed the conversion, or is sent as another row in place of the one that it `replaces`. `errorCode` says
    why a conversion was stored and is not sent: the visitor denied consent, and the site does not send such ones.
    """

    index: int
    status: Literal["created", "corrected", "duplicate", "invalid"]
    id: NotRequired[ConversionId]
    replaces: NotRequired[ConversionId]
    differs: NotRequired[list[str]]
    state: NotRequired[ConversionStatus]
    errorCode: NotRequired[Literal["WITHHELD_CONSENT_DENIED"]]
    errors: NotRequired[list[FieldError]]
    defaulted: NotRequired[dict[str, str]]


class AdjustmentResult(TypedDict):
    """The result for one adjustment; `state` is that of the adjustment now."""

    index: int
    status: Literal["created", "duplicate", "invalid"]
    id: NotRequired[AdjustmentId]
    conversionId: NotRequired[ConversionId]
    state: NotRequired[ConversionStatus]
    errors: NotRequired[list[FieldError]]


class Item(TypedDict):
    """A conversion as the script reads it: missing click ids are empty, missing consents and hashes are left out."""

    id: str
    orderId: str
    gclid: str
    wbraid: str
    gbraid: str
    conversionName: str
    conversionTime: str
    conversionValue: float
    conversionCurrency: str
    claim: NotRequired[Annotated[int, Field(description="The number of the claim, to be sent back in `claims`.")]]
    consentAdUserData: NotRequired[ConsentGiven]
    consentAdPersonalization: NotRequired[ConsentGiven]
    hashedEmail: NotRequired[str]
    hashedPhone: NotRequired[str]
    hashedPhoneNumber: NotRequired[Annotated[str, Field(description="The same as hashedPhone, for older scripts.")]]


class Enqueued(TypedDict):
    """The results, in the order of the request."""

    ok: Literal[True]
    created: int
    corrected: int
    duplicates: int
    invalid: int
    withheld: Annotated[int, Field(description="How many of the created and corrected ones are not sent.")]
    results: list[ConversionResult]


class Adjusted(TypedDict):
    """The results, in the order of the request."""

    ok: Literal[True]
    created: int
    duplicates: int
    invalid: int
    results: list[AdjustmentResult]


class PreviewCounts(TypedDict):
    """How many rows could be claimed, and how many have to wait."""

    queued: int
    skipped: int


class PageMeta(TypedDict):
    """Whether there is a next page."""

    nextCursor: str | None
    hasNextPage: bool


class Preview(TypedDict):
    """What a claim would return; nothing was changed."""

    siteId: Annotated[str, Field(description="The site's uuid, as scripts in the field expect it.")]
    items: list[Item]
    counts: PreviewCounts
    warnings: list[str]
    nextCursor: NotRequired[Annotated[str | None, Field(description="Only if `paged` is `true`, as the next two.")]]
    next_cursor: NotRequired[str | None]
    meta: NotRequired[PageMeta]


class NextPage(TypedDict):
    """The cursor of the next page, null if no more rows are due; older scripts read one of the two other fields."""

    nextCursor: str | None
    next_cursor: str | None
    meta: PageMeta


class ClaimedPage(NextPage):
    """What was claimed, if `paged` is `true`."""

    siteId: str
    items: list[Item]


class LeftAlone(TypedDict):
    """A row that was not moved, and its state; NOT_FOUND also for rows of other sites."""

    id: ConversionId
    status: ConversionStatus | Literal["NOT_FOUND"]


class Ignored(TypedDict):
    """A row that was not moved, and its state. INVALID_ID is said of what is no id; it is shown as it was sent."""

    id: str
    status: ConversionStatus | Literal["NOT_FOUND", "INVALID_ID"]


class Acknowledged(TypedDict):
    """How many rows moved, and which were skipped."""

    ok: Literal[True]
    updated: int
    ignored: list[Ignored]


class Acted(TypedDict):
    """How many rows moved, and which were skipped."""

    ok: Literal[True]
    affected: int
    outcomeUnknown: Annotated[int, Field(description="How many of the affected rows Google may have.")]
    skipped: list[LeftAlone]


class SummaryStored(TypedDict):
    """How many days were stored."""

    ok: Literal[True]
    stored: int


class Session(TypedDict):
    """A temporary token for one site."""

    session_token: str
    expires_at: Time


class Totals(TypedDict):
    QUEUED: int
    RETRY: int
    PROCESSING: int
    UPLOADED: int
    COMPLETED: int
    FAILED: int


class OpenCircuit(TypedDict):
    """Why a site's uploads stopped, and when the next probe is sent."""

    code: str
    reason: str
    openedAt: Time | None
    nextProbeAt: Time | None


class OpenActionCircuit(OpenCircuit):
    """The same, of one conversion name or of all."""

    conversionName: Annotated[str, Field(description="Empty if it is open for all conversions of the site.")]


class SiteStats(TypedDict):
    """The state of one site."""

    siteId: PublicId
    totals: Totals
    stuckProcessing: int
    lastUpdatedAt: Time | None
    errorRate: float | None
    alarming: bool
    lastExportAt: Time | None
    lastAckAt: Time | None
    scriptIsSilent: bool
    needsCredentials: bool
    loginTestFailed: Annotated[bool, Field(description="The stored Google login did not pass its last test.")]
    googleDiffers: Annotated[bool, Field(description="Google's counts of the last days differ from ours.")]
    circuit: Annotated[OpenCircuit | None, Field(description="Of all conversions of the site.")]
    circuits: Annotated[list[OpenActionCircuit], Field(description="All that are open.")]


class SummedStats(TypedDict):
    """The totals of all the user's sites, and the stats of each."""

    siteId: None
    totals: Totals
    stuckProcessing: int
    lastUpdatedAt: Time | None
    sites: list[SiteStats]


class ConversionRow(TypedDict):
    """A conversion without its click id."""

    id: ConversionId
    status: ConversionStatus
    conversionName: str
    orderId: str
    conversionValue: float
    conversionCurrency: str
    attemptCount: int
    attemptsForgiven: int
    lastError: str | None
    providerErrorCode: str | None
    providerErrorCategory: Category | None
    providerRequestId: str | None
    outcomeUnknown: bool
    conversionTime: Time
    createdAt: Time
    updatedAt: Time
    claimedAt: Time | None
    nextRetryAt: Time | None
    uploadedAt: Time | None


class ConversionRows(TypedDict):
    """A page of rows, newest first; the last page has no `nextCursor`."""

    siteId: PublicId
    rows: list[ConversionRow]
    nextCursor: NotRequired[str]


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
