"""The conversion queue's endpoints for OpenAPI."""

from typing import Any

from kilit.api.openapi import VALIDATION, ApiResponse, describe, operation
from ociqueue import schemas
from ociqueue.api import answers
from ociqueue.export import Item
from ociqueue.schemas import REQUIRED, ROW, SITE

SCRIPT, PEOPLE, CLOCKS = "Conversions", "Operators of conversions", "Clocks"
NO_SITE = {404: {"NOT_FOUND": "There is no such site, or you have no access to it."}}
CRON: list[dict[str, list[str]]] = [{"cronSecret": []}]
conversions = describe(
    post=operation(
        "Send conversions",
        description="Valid ones are stored even when others are invalid; sending the same `sourceKey` again returns "
        f"the existing id. Required in each: {', '.join(REQUIRED)}, and one click id.",
        tag=SCRIPT,
        body=schemas.EnqueueRequest,
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
        query=schemas.ExportQuery,
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
        body=schemas.AckRequest,
        responses={200: ApiResponse("How many rows moved, and which were skipped.", answers.Acknowledged)},
        errors=[VALIDATION, NO_SITE],
        examples={"one row": {"siteId": SITE, "queueIds": [ROW]}},
    )
)

ack_failed = describe(
    post=operation(
        "Report conversions that could not be uploaded",
        tag=SCRIPT,
        body=schemas.AckFailedRequest,
        responses={200: ApiResponse("How many rows moved, and which were skipped.", answers.Acknowledged)},
        errors=[VALIDATION, NO_SITE],
        examples={"one row": {"siteId": SITE, "queueIds": [ROW], "errorCategory": "VALIDATION"}},
    )
)

verify = describe(
    post=operation(
        "Exchange a key for a token for one site",
        tag=SCRIPT,
        body=schemas.SiteRequest,
        responses={200: ApiResponse("A token, and when it expires.", answers.Session)},
        errors=[VALIDATION, NO_SITE],
        examples={"a site": {"siteId": SITE}},
    )
)

stats = describe(
    get=operation(
        "Get the stats of a site, or of all",
        tag=PEOPLE,
        query=schemas.StatsQuery,
        responses={200: ApiResponse("The stats of one site, or of all.", answers.SiteStats | answers.SummedStats)},
        errors=[VALIDATION, NO_SITE],
    )
)

rows = describe(
    get=operation(
        "List a site's conversions",
        description="Newest first. Pass `nextCursor` as `cursor` for the next page; pages are stable while rows move.",
        tag=PEOPLE,
        query=schemas.RowsQuery,
        responses={200: ApiResponse("A page.", answers.ConversionRows)},
        errors=[VALIDATION, NO_SITE],
    )
)

actions = describe(
    post=operation(
        "Act on conversions",
        tag=PEOPLE,
        body=schemas.ActionRequest,
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
