"""Requests of scripts and operators; a script also sends Google's upload summaries."""

import datetime as dt
import json
from collections import Counter
from contextlib import suppress
from typing import Annotated, Any, Literal, Self, cast
from uuid import UUID

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from kilit.api.cursor import Cursor
from kilit.api.input_model import ONLY_DIGITS, Expected, LenientInput, PageLimit, ShownAs, invalid, line, text
from kilit.lock.text import CONTROL_CHARS, strip_control_chars
from kilit.sites.models import is_time_zone
from kilit.sites.schemas.operations import SITE
from ociqueue.models.conversion import PREFIX
from ociqueue.schemas.conversions import NewConversion
from ociqueue.states import Category, ConversionStatus

MOST_EXPORTED = 10_000
MOST_ACTED_ON = 5_000
MOST_ENQUEUED = 5_000
MOST_MINUTES = 60 * 24 * 365
LARGEST_CLAIM = 2**31 - 1
LONGEST_CODE = 64
NO_CODE = "VALIDATION_FAILED"
ROW = f"{PREFIX}0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192"
SALE = {
    "conversionName": "Sale",
    "gclid": "Cj0KCQ-example",
    "conversionTime": "2026-11-15T13:45:00+03:00",
    "conversionValue": 120.5,
    "conversionCurrency": "TRY",
    "sourceKey": "order-1001",
}


def read_row_id(value: object) -> Any:
    return value.removeprefix(PREFIX) if isinstance(value, str) else value


def read_message(value: object) -> str:
    """Clean an error message rather than reject it, because a rejection would lose the report of every row."""
    if value is None:
        return ""
    return strip_control_chars(value if isinstance(value, str) else compact_json(value))


def read_code(value: object) -> str:
    """Return what can be used of an error code: a text or a number, in one line, cut to what a row can store."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return " ".join(CONTROL_CHARS.sub(" ", text).split())[:LONGEST_CODE].strip() or NO_CODE


def compact_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=float, separators=(",", ":"))


SiteId = Annotated[str, line(64), Field(description="The site's public id or uuid.", examples=[SITE])]
RowId = Annotated[
    UUID,
    BeforeValidator(read_row_id, json_schema_input_type=str),
    Expected(f"{PREFIX}<uuid>"),
    Field(description=f"`{PREFIX}<uuid>`, or the bare uuid.", examples=[ROW]),
]


MOST_SHOWN_OF_ID = 100


def read_id_or_text(value: object, read: ValidatorFunctionWrapHandler) -> UUID | str:
    """Keep an id that is invalid as a text: it must not cost the report of the others."""
    with suppress(ValidationError):
        return cast("UUID", read(value))
    text_of_id = value if isinstance(value, str) else compact_json(value)
    return strip_control_chars(text_of_id[:MOST_SHOWN_OF_ID])


def read_claims(value: object) -> dict[UUID, int]:
    """Read the claim numbers by id; what is not one is left out, as if the script had not sent it."""
    claims = {}
    for name, number in value.items() if isinstance(value, dict) else ():
        with suppress(ValueError):
            if type(number) is int and 0 < number <= LARGEST_CLAIM:
                claims[UUID(name.removeprefix(PREFIX))] = number
    return claims


class SiteRequest(LenientInput):
    siteId: SiteId

    examples = {"a site": {"siteId": SITE}}


class IntakeRequest(LenientInput):
    """What is stored: each item is validated separately, so that an invalid one does not block the others."""

    siteId: Annotated[SiteId | None, Field(description="May be left out with a key of one site.")] = None
    strict: Annotated[bool, Field(description="If one is invalid, answer 422 and store nothing.")] = False
    dryRun: Annotated[bool, Field(description="Only validate: the response says what would be stored.")] = False


class EnqueueRequest(IntakeRequest):
    """Conversions; each is validated separately, so that one invalid conversion does not block the others."""

    conversions: Annotated[list[Annotated[Any, ShownAs(NewConversion)]], Field(min_length=1, max_length=MOST_ENQUEUED)]

    examples = {"one sale": {"siteId": SITE, "conversions": [SALE]}}


class ExportQuery(SiteRequest):
    markAsExported: Annotated[str, Field(max_length=16, description="Only the literal `true` claims.")] = "false"
    limit: Annotated[int, Field(ge=1, le=MOST_EXPORTED), ONLY_DIGITS] = 5_000
    paged: Annotated[
        str, Field(max_length=16, description="With the literal `true`, the answer is an object with `nextCursor`.")
    ] = "false"
    cursor: Annotated[
        Cursor | None, Field(description="The `nextCursor` of the page before. A claim takes the next rows anyway.")
    ] = None


RowIds = Annotated[list[Annotated[RowId, WrapValidator(read_id_or_text)]], Field(max_length=MOST_EXPORTED)]
Claims = Annotated[
    dict[UUID, int],
    PlainValidator(read_claims, json_schema_input_type=dict[str, int]),
    Field(description="The `claim` of each row by its id, as it was exported. A row with a newer claim is ignored."),
]


class AckRequest(SiteRequest):
    """What was uploaded, and what was skipped on purpose."""

    queueIds: RowIds
    skippedIds: RowIds | None = None
    claims: Claims = Field(default_factory=dict)

    examples = {"one row": {"siteId": SITE, "queueIds": [ROW]}}


class AckFailedRequest(SiteRequest):
    """What could not be uploaded, and why."""

    queueIds: RowIds
    claims: Claims = Field(default_factory=dict)
    errorCode: Annotated[
        str,
        PlainValidator(read_code, json_schema_input_type=Any),
        Field(description=f"A text of up to {LONGEST_CODE} characters; a longer one is cut, another value is ignored."),
    ] = NO_CODE
    errorMessage: Annotated[
        str,
        PlainValidator(read_message, json_schema_input_type=Any),
        Field(description="A text; any other value is stored as JSON. What is too long is cut."),
    ] = ""
    # The other categories are set by the uploader, operators and sweeps.
    errorCategory: Annotated[
        Literal[Category.VALIDATION, Category.TRANSIENT, Category.AUTH],
        BeforeValidator(lambda value: Category.VALIDATION if value is None else value),
    ] = Category.VALIDATION

    examples = {"one row": {"siteId": SITE, "queueIds": [ROW], "errorCategory": "VALIDATION"}}


class CapQuery(LenientInput):
    minAgeMinutes: Annotated[
        int | None,
        Field(
            ge=0, le=MOST_MINUTES, description="Only rows that did not change for so long; the schedule's 15 if absent."
        ),
    ] = None

    def keywords(self) -> dict[str, dt.timedelta]:
        return {} if self.minAgeMinutes is None else {"min_age": dt.timedelta(minutes=self.minAgeMinutes)}


class StatsQuery(LenientInput):
    scope: Literal["site", "multi"] = "site"
    siteId: SiteId | None = Field(None, validate_default=True)

    @field_validator("siteId")
    @classmethod
    def _needed(cls, site: str | None, info: ValidationInfo) -> str | None:
        if site is None and info.data.get("scope") == "site":
            raise invalid("This field is required.")
        return site


class RowsQuery(SiteRequest):
    limit: PageLimit = 50
    status: ConversionStatus | None = None
    cursor: Cursor | None = None


class ActionRequest(SiteRequest):
    """An operator's action."""

    action: Literal["RETRY_SELECTED", "RESET_TO_QUEUED", "MARK_FAILED"]
    ids: Annotated[list[RowId], Field(max_length=MOST_ACTED_ON)]
    reason: Annotated[str, text(1000)] = ""
    errorCode: Annotated[str, text(64)] = ""
    errorCategory: Category | None = None
    clearErrors: bool = False

    examples = {"retry": {"siteId": SITE, "action": "RETRY_SELECTED", "ids": [ROW], "reason": "Fixed at Google."}}


MOST_DAYS = 5_000  # seven days of some hundred actions and clients
MOST_ALERTS = 500
MOST_COUNTED = 2**53  # a script's numbers are floats


def without_dashes(value: object) -> Any:
    return value.replace("-", "") if isinstance(value, str) else value


def known_zone(name: str) -> str:
    if not is_time_zone(name):
        raise invalid("Expected a time zone, such as Europe/Istanbul.")
    return name


Number = Annotated[int, Field(ge=0, le=MOST_COUNTED)]
Name = Annotated[str, text(200, least=1)]
Client = Annotated[str, text(40, least=1), Field(description="Google's name for the uploader, as GOOGLE_ADS_API.")]


class SummaryOfDay(LenientInput):
    """What Google counted on one day, for one conversion action and one kind of uploader."""

    day: Annotated[dt.date, Expected("a day, as in 2026-11-15"), Field(description="In the account's time zone.")]
    actionId: Annotated[int, Field(ge=1, lt=2**63)]
    actionName: Name
    client: Client
    successful: Number
    failed: Number
    pending: Number


class SummaryAlert(LenientInput):
    """An error of the most recent uploads, and its share of them from 0 to 1."""

    error: Annotated[str, text(100, least=1)]
    share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    client: Client
    action: Annotated[str, text(200)] = ""


class UploadSummaryRequest(SiteRequest):
    """All that the account's upload summaries say; it replaces what was sent before."""

    customerId: Annotated[
        str,
        BeforeValidator(without_dashes, json_schema_input_type=str),
        Field(pattern="^[0-9]{10}$"),
        Expected("ten digits, as in 123-456-7890"),
    ]
    timeZone: Annotated[str, AfterValidator(known_zone), Field(description="The account's time zone.")]
    days: Annotated[list[SummaryOfDay], Field(max_length=MOST_DAYS)]
    alerts: Annotated[list[SummaryAlert], Field(max_length=MOST_ALERTS)] = []

    @model_validator(mode="after")
    def _once(self) -> Self:
        counts = Counter((summary.day, summary.actionId, summary.client) for summary in self.days)
        for (day, action, client), times in counts.items():
            if times > 1:
                raise invalid(f"{day} of action {action} and client {client} is listed {times} times.")
        return self

    examples = {
        "one day": {
            "siteId": SITE,
            "customerId": "123-456-7890",
            "timeZone": "Europe/Istanbul",
            "days": [
                {
                    "day": "2026-11-15",
                    "actionId": 7,
                    "actionName": "Sale",
                    "client": "GOOGLE_ADS_WEB_CLIENT",
                    "successful": 120,
                    "failed": 2,
                    "pending": 0,
                }
            ],
        }
    }
