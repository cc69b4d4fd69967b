"""Requests of scripts and operators."""

import json
from contextlib import suppress
from typing import Annotated, Any, Literal, cast
from uuid import UUID

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)

from kilit.api.cursor import Cursor
from kilit.api.input_model import ONLY_DIGITS, Expected, InputModel, ShownAs, invalid, line, text
from kilit.lock.text import CONTROL_CHARS, strip_control_chars
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
SITE = "4f1d2c3b5a69788796a5b4c3d2e1f001"
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


def read_row_ids(value: object, read: ValidatorFunctionWrapHandler) -> list[UUID | str]:
    """Read ids. Among others, one that is invalid is kept as a text: it must not cost the report of the others."""
    try:
        return list(read(value))
    except ValidationError:
        if not isinstance(value, list) or len(value) > MOST_EXPORTED:
            raise
    return [_read_id_or_text(each, read) for each in value]


def _read_id_or_text(value: object, read: ValidatorFunctionWrapHandler) -> UUID | str:
    with suppress(ValidationError):
        return cast("UUID", read([value])[0])
    shown = value if isinstance(value, str) else compact_json(value)
    return strip_control_chars(shown[:MOST_SHOWN_OF_ID])


def read_claims(value: object) -> dict[UUID, int]:
    """Read the claim numbers by id; what is not one is left out, as if the script had not sent it."""
    found = {}
    for name, number in value.items() if isinstance(value, dict) else ():
        with suppress(ValueError):
            if type(number) is int and 0 < number <= LARGEST_CLAIM:
                found[UUID(name.removeprefix(PREFIX))] = number
    return found


class ScriptMessage(InputModel):
    """A request of a script. Deployed scripts expect that unknown keys are ignored."""

    model_config = ConfigDict(strict=False, extra="ignore", coerce_numbers_to_str=True)


class SiteRequest(ScriptMessage):
    siteId: SiteId

    examples = {"a site": {"siteId": SITE}}


class EnqueueRequest(SiteRequest):
    """Conversions; each is validated separately, so that one invalid conversion does not block the others."""

    conversions: Annotated[list[Annotated[Any, ShownAs(NewConversion)]], Field(min_length=1, max_length=MOST_ENQUEUED)]
    dryRun: Annotated[bool, Field(description="Only validate: the response says what would be stored.")] = False

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


RowIds = Annotated[list[RowId], Field(max_length=MOST_EXPORTED), WrapValidator(read_row_ids)]
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


class CapQuery(ScriptMessage):
    minAgeMinutes: Annotated[
        int | None,
        Field(
            ge=0, le=MOST_MINUTES, description="Only rows that did not change for so long; the schedule's 15 if absent."
        ),
    ] = None


class StatsQuery(ScriptMessage):
    scope: Literal["site", "multi"] = "site"
    siteId: SiteId | None = Field(None, validate_default=True)

    @field_validator("siteId")
    @classmethod
    def _needed(cls, site: str | None, info: ValidationInfo) -> str | None:
        if site is None and info.data.get("scope") == "site":
            raise invalid("This field is required.")
        return site


class RowsQuery(SiteRequest):
    limit: Annotated[int, Field(ge=1, le=200), ONLY_DIGITS] = 50
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
