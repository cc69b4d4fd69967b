"""What webhooks report about adjustments: ids, states and errors, and the new value."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise
from typing_extensions import TypedDict

from kilit.api.webhooks import Described, WebhookKind, console_url
from kilit.lock.models import Event
from ociqueue.models import Adjustment, Site
from ociqueue.schemas.answers import AdjustmentId, ConversionId, PublicId
from ociqueue.states import ADJUSTMENTS, AdjustmentKind, Category, ConversionStatus
from ociqueue.webhooks.conversions import (
    CONSOLE,
    CONVERSION_ID,
    PUBLIC_ID,
    ConsoleUrl,
    ErrorMessage,
    ids_of,
    masked_error,
    moved,
)


class AdjustmentEventData(TypedDict):
    """An adjustment, as it was after the move that is reported."""

    id: AdjustmentId
    conversion_id: ConversionId
    site_id: PublicId
    conversion_name: str
    order_id: str
    source_key: str | None
    kind: AdjustmentKind
    value: str | None
    currency: str | None
    status: ConversionStatus
    attempt_count: int
    error_code: str | None
    error_category: Category | None
    error_message: ErrorMessage | None
    console_url: ConsoleUrl


def describe_adjustments(events: Sequence[Event]) -> dict[int, Described]:
    moves = moved(events)
    found = Adjustment.objects.filter(pk__any_of=ids_of(moves)).select_related("original").in_bulk()
    sites = dict(Site.objects.filter(pk__in={row.site_id for row in found.values()}).values_list("pk", "public_id"))
    return {
        event.pk: _adjustment(event, row, sites[row.site_id])
        for event in moves
        if (row := found.get(event.object_id)) is not None
    }


def _adjustment(event: Event, row: Adjustment, site_id: str) -> Described:
    details = event.details
    data: AdjustmentEventData = {
        "id": str(row),
        "conversion_id": str(row.original),
        "site_id": site_id,
        "conversion_name": row.action,
        "order_id": row.order_id,
        "source_key": row.source_key,
        "kind": AdjustmentKind(row.kind),
        "value": None if row.value is None else str(row.value),
        "currency": row.currency or None,
        "status": ConversionStatus(event.to_state),
        "attempt_count": details.get("attempt_count", row.attempt_count),
        "error_code": details.get("provider_error_code") or None,
        "error_category": details.get("provider_error_category") or None,
        "error_message": masked_error(event, row.original),
        "console_url": console_url(Adjustment, row.pk),
    }
    return Described(data, scope=str(row.site_id))


ADJUSTMENT_ID = "01936f2e-8a41-7c3e-9d50-6b1f0e2a4c78"
COMPLETED: AdjustmentEventData = {
    "id": f"adj_{ADJUSTMENT_ID}",
    "conversion_id": f"seal_{CONVERSION_ID}",
    "site_id": PUBLIC_ID,
    "conversion_name": "Satış",
    "order_id": "b7a1e0c94d2f",
    "source_key": "R-17",
    "kind": AdjustmentKind.RESTATEMENT,
    "value": "80.000",
    "currency": "TRY",
    "status": ConversionStatus.COMPLETED,
    "attempt_count": 1,
    "error_code": None,
    "error_category": None,
    "error_message": None,
    "console_url": f"{CONSOLE}/adjustment/{ADJUSTMENT_ID}/change/",
}
UPLOADED: AdjustmentEventData = {**COMPLETED, "status": ConversionStatus.UPLOADED}
FAILED: AdjustmentEventData = {
    **COMPLETED,
    "status": ConversionStatus.FAILED,
    "error_code": "OVERTAKEN",
    "error_category": Category.PERMANENT,
    "error_message": "A newer adjustment of the same conversion takes its place.",
}


def _kind(name: str, event_type: str, about: StrOrPromise, example: Mapping[str, Any]) -> WebhookKind:
    return WebhookKind(
        name,
        ADJUSTMENTS.queue,
        (event_type,),
        about=about,
        data=AdjustmentEventData,
        example=example,
        describe=describe_adjustments,
        is_of_sites=True,
    )


KINDS = (
    _kind(
        "adjustment.uploaded",
        "STATE_UPLOADED",
        _("Google has an adjustment; its verdict comes later (Data Manager only)."),
        UPLOADED,
    ),
    _kind(
        "adjustment.completed",
        "STATE_COMPLETED",
        _("Google confirmed an adjustment, or nothing had to be sent."),
        COMPLETED,
    ),
    _kind("adjustment.failed", "STATE_FAILED", _("An adjustment failed, or a newer one took its place."), FAILED),
)
