"""Looking conversions up: what is asked for, and what is answered."""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from typing_extensions import TypedDict

from kilit.api.input_model import InputModel, Moment, Time, invalid, line
from kilit.sites.schemas.operations import SITE, PublicId
from ociqueue.schemas.requests import RowId, SiteId
from ociqueue.schemas.responses import ConversionId
from ociqueue.states import Category, ConversionStatus

MOST_LOOKUPS = 1_000
MOST_FOUND = 20  # conversions of one lookup
LONGEST_SPAN = timedelta(days=92)  # of an export: a quarter of a year
NAMES = ("id", "sourceKey", "orderId")


class Lookup(InputModel):
    """Names a conversion in one way: by `id`, `sourceKey` or `orderId`."""

    model_config = ConfigDict(strict=False, coerce_numbers_to_str=True)  # ids are sent as text

    id: RowId | None = None
    sourceKey: Annotated[str, line(200), Field(description="The key that the conversion was sent with.")] | None = None
    orderId: Annotated[str, line(64), Field(description="The id by which Google counts the conversion.")] | None = None

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        named = [name for name in NAMES if getattr(self, name) is not None]
        if not named:
            raise invalid("Name the conversion by id, sourceKey or orderId.")
        if len(named) > 1:
            raise invalid(f"Name the conversion once: {' and '.join(named)} are given.")
        return self


AskedSite = Annotated[SiteId | None, Field(description="May be left out with a key of one site.")]


class LookupQuery(Lookup):
    siteId: AskedSite = None


class HistoryQuery(InputModel):
    """A time span: conversions that were created in it are exported."""

    model_config = ConfigDict(strict=False)

    siteId: AskedSite = None
    start: Moment = Field(alias="from", description="Created from this time on.")
    end: Moment = Field(alias="to", description="Created before this time; at most 92 days later.")
    format: Literal["csv", "jsonl"] = "csv"

    @model_validator(mode="after")
    def is_short_enough(self) -> Self:
        if self.start >= self.end:
            raise invalid("`from` must be before `to`.")
        if self.end - self.start > LONGEST_SPAN:
            raise invalid(f"At most {LONGEST_SPAN.days} days at once.")
        return self


class LookupRequest(InputModel):
    """Conversions to look up, each named in one way."""

    model_config = ConfigDict(strict=False)

    siteId: AskedSite = None
    lookups: Annotated[list[Lookup], Field(min_length=1, max_length=MOST_LOOKUPS)]

    examples = {"two orders": {"siteId": SITE, "lookups": [{"sourceKey": "order-1001"}, {"sourceKey": "order-1002"}]}}


class ConversionError(TypedDict):
    """Why a conversion failed, or waits for another attempt."""

    code: str
    category: Category | None
    message: Annotated[str, Field(description="Click ids, phone numbers and e-mail addresses are masked.")]
    hint: Annotated[str | None, Field(description="What can be done about it.")]


class ConversionFound(TypedDict):
    """What became of a conversion, without its click id.

    A corrected copy `replaces` the conversion that failed, and has its source key; the one that failed is `replacedBy`
    the copy.
    """

    id: ConversionId
    sourceKey: str | None
    orderId: str
    conversionName: str
    state: ConversionStatus
    outcomeUnknown: Annotated[bool, Field(description="It was sent and no answer came: Google may have it.")]
    attemptCount: int
    error: ConversionError | None
    conversionTime: Time
    eventSource: Annotated[str, Field(description="Where it happened: WEB, APP, IN_STORE, PHONE, MESSAGE or OTHER.")]
    createdAt: Time
    updatedAt: Time
    claimedAt: Time | None
    uploadedAt: Annotated[Time | None, Field(description="When Google confirmed it; null on the script path.")]
    endedAt: Annotated[Time | None, Field(description="When it became COMPLETED or FAILED, if it is.")]
    nextRetryAt: Annotated[Time | None, Field(description="Not sent before this time.")]
    replaces: ConversionId | None
    replacedBy: ConversionId | None


class ConversionsFound(TypedDict):
    """The conversions of that id or key, newest first; none if it is unknown."""

    siteId: PublicId
    conversions: list[ConversionFound]
    hasMore: Annotated[bool, Field(description=f"There are older ones beyond the newest {MOST_FOUND}.")]


class LookupResult(TypedDict):
    """The result of one lookup; its conversions are the newest first."""

    index: int
    status: Literal["found", "notFound"]
    conversions: list[ConversionFound]
    hasMore: bool


class LookedUp(TypedDict):
    """The results, in the order of the request."""

    siteId: PublicId
    found: int
    notFound: int
    results: list[LookupResult]
