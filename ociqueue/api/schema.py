"""The conversion queue's endpoints for OpenAPI; checks are where they always were, in serializers and entry.py."""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension

from kilit.api.openapi import VALIDATION, ApiResponse, describe, operation
from ociqueue.api import answers, serializers
from ociqueue.entry import FIELDS, REQUIRED
from ociqueue.export import Item
from ociqueue.models import Conversion
from ociqueue.models.conversion import PREFIX

SCRIPT, PEOPLE, CLOCKS = "Conversions", "Operators of conversions", "Clocks"
NO_SITE = {404: {"NOT_FOUND": "There is no such site, or none that you may act for."}}
CRON: list[dict[str, list[str]]] = [{"cronSecret": []}]
SITE = "4f1d2c3b5a69788796a5b4c3d2e1f001"
ROW = f"{PREFIX}0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192"

SPOKEN = {
    "conversionName": "The conversion action's name.",
    "conversionTime": "ISO 8601 with an offset; not in the future, not older than 90 days.",
    "conversionValue": "An amount that the currency can hold.",
    "conversionCurrency": "ISO 4217; without one the site's own is taken, and the answer says so.",
    "sourceKey": "Yours: the same one again, under the same name, is the same conversion.",
    "consent": f"One of {', '.join(Conversion.Consent.values)}.",
    **dict.fromkeys(Conversion.CLICK_IDS, "Exactly one click id is needed."),
}
CONVERSION = {
    "type": "object",
    "description": f"Fields: {', '.join(FIELDS)}. What is wrong with one is told in its result, under its index.",
    "properties": {name: {"description": SPOKEN[name]} for name in FIELDS},
}


class IdsSchema(OpenApiSerializerFieldExtension):
    target_class = "ociqueue.api.fields.IdsField"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        """Say how an id looks, and how many there may be."""
        ids = {"type": "string", "description": f"`{PREFIX}<uuid>`, or the bare uuid."}
        return {"type": "array", "items": ids, "maxItems": self.target.most}


class EntrySchema(OpenApiSerializerFieldExtension):
    target_class = "ociqueue.api.fields.AnyField"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        """Name its fields; each conversion is judged by itself, so none of them makes a request wrong."""
        return CONVERSION


class MessageSchema(OpenApiSerializerFieldExtension):
    target_class = "ociqueue.api.fields.MessageField"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        return {"type": "string", "description": "A text; anything else is taken too, and kept as its JSON."}


conversions = describe(
    post=operation(
        "Bring conversions",
        description="Valid ones are stored even when others are invalid; sending the same `sourceKey` again returns "
        f"the existing id. Required in each: {', '.join(REQUIRED)}, and one click id.",
        tag=SCRIPT,
        body=serializers.EnqueueSerializer,
        responses={200: ApiResponse("What became of each.", answers.Enqueued)},
        errors=[VALIDATION, NO_SITE],
        examples={
            "one sale": {
                "siteId": SITE,
                "conversions": [
                    {
                        "conversionName": "Sale",
                        "gclid": "Cj0KCQ-example",
                        "conversionTime": "2026-11-15T13:45:00+03:00",
                        "conversionValue": 120.5,
                        "conversionCurrency": "TRY",
                        "sourceKey": "order-1001",
                    }
                ],
            }
        },
    )
)

export = describe(
    get=operation(
        "Hand out conversions, or preview them",
        description="Only the literal `markAsExported=true` claims rows, and returns a flat array of exactly those; "
        "anything else is a preview, which writes nothing.",
        tag=SCRIPT,
        query=serializers.ExportSerializer,
        responses={200: ApiResponse("What was claimed, or would be.", list[Item] | answers.Preview)},
        errors=[
            VALIDATION,
            NO_SITE,
            {409: {"NOT_A_SCRIPT_SITE": "The site sends through the Google Ads API."}},
            {503: {"SITE_PAUSED": "An operator paused the site; the message tells why."}},
        ],
    )
)

ack = describe(
    post=operation(
        "Tell what was uploaded",
        description="Rows that are PROCESSING become COMPLETED; `skippedIds`, which the script skipped, become FAILED.",
        tag=SCRIPT,
        body=serializers.AckSerializer,
        responses={200: ApiResponse("What moved, and what was left alone.", answers.Acknowledged)},
        errors=[VALIDATION, NO_SITE],
        examples={"one row": {"siteId": SITE, "queueIds": [ROW]}},
    )
)

ack_failed = describe(
    post=operation(
        "Tell what could not be uploaded",
        tag=SCRIPT,
        body=serializers.AckFailedSerializer,
        responses={200: ApiResponse("What moved, and what was left alone.", answers.Acknowledged)},
        errors=[VALIDATION, NO_SITE],
        examples={"one row": {"siteId": SITE, "queueIds": [ROW], "errorCategory": "VALIDATION"}},
    )
)

verify = describe(
    post=operation(
        "Trade a key for a token of one site",
        tag=SCRIPT,
        body=serializers.SiteSerializer,
        responses={200: ApiResponse("A token, and when it ends.", answers.Session)},
        errors=[VALIDATION, NO_SITE],
        examples={"a site": {"siteId": SITE}},
    )
)

stats = describe(
    get=operation(
        "See how a site is doing, or all",
        tag=PEOPLE,
        query=serializers.StatsSerializer,
        responses={200: ApiResponse("Of one site, or summed.", answers.SiteStats | answers.SummedStats)},
        errors=[VALIDATION, NO_SITE],
    )
)

rows = describe(
    get=operation(
        "List a site's conversions",
        description="Newest first. Pass `nextCursor` as `cursor` for the next page; pages are stable while rows move.",
        tag=PEOPLE,
        query=serializers.RowsSerializer,
        responses={200: ApiResponse("A page.", answers.ConversionRows)},
        errors=[VALIDATION, NO_SITE],
    )
)

actions = describe(
    post=operation(
        "Act on conversions",
        tag=PEOPLE,
        body=serializers.ActionSerializer,
        responses={200: ApiResponse("What moved, and what was left alone.", answers.Acted)},
        errors=[VALIDATION, NO_SITE],
        examples={"retry": {"siteId": SITE, "action": "RETRY_SELECTED", "ids": [ROW], "reason": "Mended at Google."}},
    )
)


def clock(summary: str, *, rings: bool = False) -> Any:
    """Describe an address for clocks: GET and POST do the same."""
    busy = {"NO_WORKER": "No worker is alive; it starts by itself once one is."} if rings else {}
    struck = operation(
        summary,
        tag=CLOCKS,
        responses={200: ApiResponse("What was done.", answers.CronResult)},
        errors=[{503: {"CRON_OFF": "No secret is set, so the address is off.", **busy}}],
        may_retry_after=[503],
        security=CRON,
    )
    return describe(get=struck, post=struck)


recover = clock("Bring back conversions that were claimed and never acknowledged")
cap = clock("Fail conversions that used up their attempts")
requeue = clock("Try conversions again that failed for a passing reason, where the site wants it")
upload = clock("Upload what is due through the Google Ads API", rings=True)
