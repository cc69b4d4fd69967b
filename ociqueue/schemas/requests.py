"""Requests of scripts and operators."""

import json
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, ValidationInfo, field_validator

from kilit.api.cursor import Cursor
from kilit.api.messages import Expected, Message, ShownAs, invalid, line, text
from kilit.lock.text import strip_control_chars
from ociqueue.models.conversion import PREFIX
from ociqueue.schemas.conversions import NewConversion
from ociqueue.states import Category, ConversionStatus

MOST_EXPORTED = 10_000
MOST_ACTED_ON = 5_000
MOST_ENQUEUED = 5_000
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


def read_row_id(value: Any) -> Any:
    return value.removeprefix(PREFIX) if isinstance(value, str) else value


def read_message(value: Any) -> str:
    """Clean an error message rather than reject it, because a rejection would lose the report of every row."""
    if value is None:
        return ""
    return strip_control_chars(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=float)
    )


SiteId = Annotated[str, line(64), Field(description="The site's public id or uuid.", examples=[SITE])]
RowId = Annotated[
    UUID,
    BeforeValidator(read_row_id, json_schema_input_type=str),
    Expected(f"{PREFIX}<uuid>"),
    Field(description=f"`{PREFIX}<uuid>`, or the bare uuid.", examples=[ROW]),
]


class ScriptMessage(Message):
    """A request of a script. Deployed scripts expect that unknown keys are ignored."""

    model_config = ConfigDict(strict=False, extra="ignore", coerce_numbers_to_str=True)


class SiteRequest(ScriptMessage):
    siteId: SiteId

    examples = {"a site": {"siteId": SITE}}


class EnqueueRequest(SiteRequest):
    """Conversions; each is validated separately, so that one invalid conversion does not block the others."""

    conversions: Annotated[list[Annotated[Any, ShownAs(NewConversion)]], Field(min_length=1, max_length=MOST_ENQUEUED)]

    examples = {"one sale": {"siteId": SITE, "conversions": [SALE]}}


class ExportQuery(SiteRequest):
    markAsExported: Annotated[str, Field(max_length=16, description="Only the literal `true` claims.")] = "false"
    limit: Annotated[int, Field(ge=1, le=MOST_EXPORTED)] = 5_000


class AckRequest(SiteRequest):
    """What was uploaded, and what was skipped on purpose."""

    queueIds: Annotated[list[RowId], Field(max_length=MOST_EXPORTED)]
    skippedIds: Annotated[list[RowId], Field(max_length=MOST_EXPORTED)] | None = None

    examples = {"one row": {"siteId": SITE, "queueIds": [ROW]}}


class AckFailedRequest(SiteRequest):
    """What could not be uploaded, and why."""

    queueIds: Annotated[list[RowId], Field(max_length=MOST_EXPORTED)]
    errorCode: Annotated[str, text(64, least=1)] = "VALIDATION_FAILED"
    errorMessage: Annotated[
        str,
        PlainValidator(read_message, json_schema_input_type=Any),
        Field(description="A text; any other value is stored as JSON."),
    ] = ""
    # The other categories are set by the uploader, operators and sweeps.
    errorCategory: Literal[Category.VALIDATION, Category.TRANSIENT, Category.AUTH]

    examples = {"one row": {"siteId": SITE, "queueIds": [ROW], "errorCategory": "VALIDATION"}}


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
    limit: Annotated[int, Field(ge=1, le=200)] = 50
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
