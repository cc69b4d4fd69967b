"""The conversion queue's endpoints for OpenAPI; serializers.py and validation.py do the checks."""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension

from kilit.api.openapi import VALIDATION, ApiResponse, describe, operation
from ociqueue.api import answers, serializers
from ociqueue.export import Item
from ociqueue.models import Conversion
from ociqueue.models.conversion import PREFIX
from ociqueue.validation import FIELDS, REQUIRED

SCRIPT, PEOPLE, CLOCKS = "Conversions", "Operators of conversions", "Clocks"
NO_SITE = {404: {"NOT_FOUND": "There is no such site, or you have no access to it."}}
CRON: list[dict[str, list[str]]] = [{"cronSecret": []}]
SITE = "4f1d2c3b5a69788796a5b4c3d2e1f001"
ROW = f"{PREFIX}0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192"

FIELD_DESCRIPTIONS = {
    "conversionName": "The name of the conversion action.",
    "conversionTime": "ISO 8601 with an offset; not in the future, not older than 90 days.",
    "conversionValue": "An amount with at most the digits that the currency has.",
    "conversionCurrency": "ISO 4217; defaults to the site's currency, which the result then shows in `defaulted`.",
    "sourceKey": "Your own id: the same key with the same conversion name is the same conversion.",
    "consent": f"One of {', '.join(Conversion.Consent.values)}.",
    **dict.fromkeys(Conversion.CLICK_IDS, "Exactly one click id is required."),
}
CONVERSION = {
    "type": "object",
    "description": f"Fields: {', '.join(FIELDS)}. Each result has the index of its conversion and lists its errors.",
    "properties": {name: {"description": FIELD_DESCRIPTIONS[name]} for name in FIELDS},
}


class IdsSchema(OpenApiSerializerFieldExtension):
    target_class = "ociqueue.api.fields.IdsField"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        ids = {"type": "string", "description": f"`{PREFIX}<uuid>`, or the bare uuid."}
        return {"type": "array", "items": ids, "maxItems": self.target.most}


class EntrySchema(OpenApiSerializerFieldExtension):
    target_class = "ociqueue.api.fields.AnyField"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        """List the fields; each conversion is validated separately, so none makes the request invalid."""
        return CONVERSION


class MessageSchema(OpenApiSerializerFieldExtension):
    target_class = "ociqueue.api.fields.MessageField"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        return {"type": "string", "description": "A text; any other value is stored as JSON."}


conversions = describe(
    post=operation(
        "Send conversions",
        description="Valid ones are stored even when others are invalid; sending the same `sourceKey` again returns "
        f"the existing id. Required in each: {', '.join(REQUIRED)}, and one click id.",
        tag=SCRIPT,
        body=serializers.EnqueueSerializer,
        responses={200: ApiResponse("The result of each.", answers.Enqueued)},
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
        "Claim conversions, or preview them",
        description="Only the literal `markAsExported=true` claims rows, and returns a flat array of exactly those; "
        "anything else is a preview, which writes nothing.",
        tag=SCRIPT,
        query=serializers.ExportSerializer,
        responses={200: ApiResponse("What was or would be claimed.", list[Item] | answers.Preview)},
        errors=[
            VALIDATION,
            NO_SITE,
            {409: {"NOT_A_SCRIPT_SITE": "The site uses the Google Ads API."}},
            {503: {"SITE_PAUSED": "An operator paused the site; the message contains the reason."}},
        ],
    )
)

ack = describe(
    post=operation(
        "Acknowledge uploaded conversions",
        description="Rows that are PROCESSING become COMPLETED; `skippedIds`, which the script skipped, become FAILED.",
        tag=SCRIPT,
        body=serializers.AckSerializer,
        responses={200: ApiResponse("How many rows moved, and which were skipped.", answers.Acknowledged)},
        errors=[VALIDATION, NO_SITE],
        examples={"one row": {"siteId": SITE, "queueIds": [ROW]}},
    )
)

ack_failed = describe(
    post=operation(
        "Report conversions that could not be uploaded",
        tag=SCRIPT,
        body=serializers.AckFailedSerializer,
        responses={200: ApiResponse("How many rows moved, and which were skipped.", answers.Acknowledged)},
        errors=[VALIDATION, NO_SITE],
        examples={"one row": {"siteId": SITE, "queueIds": [ROW], "errorCategory": "VALIDATION"}},
    )
)

verify = describe(
    post=operation(
        "Exchange a key for a token for one site",
        tag=SCRIPT,
        body=serializers.SiteSerializer,
        responses={200: ApiResponse("A token, and when it expires.", answers.Session)},
        errors=[VALIDATION, NO_SITE],
        examples={"a site": {"siteId": SITE}},
    )
)

stats = describe(
    get=operation(
        "Get the stats of a site, or of all",
        tag=PEOPLE,
        query=serializers.StatsSerializer,
        responses={200: ApiResponse("The stats of one site, or of all.", answers.SiteStats | answers.SummedStats)},
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
        responses={200: ApiResponse("How many rows moved, and which were skipped.", answers.Acted)},
        errors=[VALIDATION, NO_SITE],
        examples={"retry": {"siteId": SITE, "action": "RETRY_SELECTED", "ids": [ROW], "reason": "Fixed at Google."}},
    )
)


def cron(summary: str, *, rings: bool = False) -> Any:
    busy = {"NO_WORKER": "No worker is running; the work starts when one does."} if rings else {}
    run = operation(
        summary,
        tag=CLOCKS,
        responses={200: ApiResponse("What was done.", answers.CronResult)},
        errors=[{503: {"CRON_OFF": "No secret is set, so this URL is disabled.", **busy}}],
        may_retry_after=[503],
        security=CRON,
    )
    return describe(get=run, post=run)


recover = cron("Take back conversions that were claimed and never acknowledged")
cap = cron("Fail conversions that used up their attempts")
requeue = cron("Retry TRANSIENT failures on sites that ask for it")
upload = cron("Upload due conversions through the Google Ads API", rings=True)
