"""Google's upload summaries, as a site's script sends them."""

import datetime as dt
from collections import Counter
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from kilit.api.input_model import Expected, invalid, text
from ociqueue.models.site import is_time_zone
from ociqueue.schemas.requests import SITE, ScriptMessage, SiteRequest

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


class SummaryOfDay(ScriptMessage):
    """What Google counted on one day, for one conversion action and one kind of uploader."""

    day: Annotated[dt.date, Expected("a day, as in 2026-11-15"), Field(description="In the account's time zone.")]
    actionId: Annotated[int, Field(ge=1, lt=2**63)]
    actionName: Name
    client: Client
    successful: Number
    failed: Number
    pending: Number


class SummaryAlert(ScriptMessage):
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
        found = Counter((each.day, each.actionId, each.client) for each in self.days)
        for (day, action, client), times in found.items():
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
