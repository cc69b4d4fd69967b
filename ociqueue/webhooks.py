"""What webhooks report about conversions, adjustments, sites and circuits: ids, states and errors, no click ids."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from pydantic import Field
from typing_extensions import TypedDict

from kilit.api.input_model import Id
from kilit.api.presenter import present
from kilit.api.webhooks import Described, WebhookKind, console_url
from kilit.lock.models import Event
from kilit.masking import mask_identifiers
from kilit.sites.schemas.operations import PublicId
from kilit.sites.site_events import PAUSED, RESUMED, SITES
from ociqueue.models import Adjustment, Circuit, Conversion, Site
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.schemas.columns import mask_error
from ociqueue.schemas.responses import AdjustmentId, ConversionId
from ociqueue.states import (
    ADJUSTMENTS,
    CIRCUITS,
    CONVERSIONS,
    AdjustmentKind,
    Category,
    CircuitStatus,
    ConversionStatus,
)

CONVERSION_COLUMNS = ("site_id", "action", "order_id", "source_key", "attempt_count", *Conversion.CLICK_IDS)
ConsoleUrl = Annotated[str, Field(description="The page in the console.")]
ErrorMessage = Annotated[str, Field(description="Phone numbers, e-mail addresses and click ids are masked.")]


class ConversionEventData(TypedDict):
    """A conversion, as it was after the move that is reported."""

    id: ConversionId
    site_id: PublicId
    conversion_name: str
    order_id: str
    source_key: str | None
    status: ConversionStatus
    attempt_count: int
    error_code: str | None
    error_category: Category | None
    error_message: ErrorMessage | None
    console_url: ConsoleUrl


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


class SiteEventData(TypedDict):
    """A site that was paused or resumed."""

    id: PublicId
    is_paused: bool
    reason: str | None
    console_url: ConsoleUrl


class CircuitEventData(TypedDict):
    """A circuit; without a conversion name it is that of the whole site."""

    id: Id
    site_id: PublicId
    conversion_name: str | None
    status: CircuitStatus
    error_code: str | None
    error_category: Category | None
    error_message: ErrorMessage | None
    console_url: ConsoleUrl


def describe_conversions(events: Sequence[Event]) -> dict[int, Described]:
    # Events come by the thousand: nothing is read that is not needed, and each site once.
    return _describe_rows(events, Conversion.objects.only(*CONVERSION_COLUMNS), ConversionEventData)


def describe_adjustments(events: Sequence[Event]) -> dict[int, Described]:
    return _describe_rows(events, Adjustment.objects.select_related("original"), AdjustmentEventData)


def _describe_rows(events: Sequence[Event], among: UploadableQuerySet[Any], shape: type) -> dict[int, Described]:
    moves = moved(events)
    rows = {row.pk: row for row in among.filter(pk__any_of=ids_of(moves))}
    sites = dict(Site.objects.filter(pk__in={row.site_id for row in rows.values()}).values_list("pk", "public_id"))
    return {
        event.pk: Described(present(row, shape, site_id=sites[row.site_id], **_values(event, row)), str(row.site_id))
        for event in moves
        if (row := rows.get(event.object_id)) is not None
    }


def _values(event: Event, row: Conversion | Adjustment) -> dict[str, object]:
    details = event.details
    conversion = row.original if isinstance(row, Adjustment) else row
    has_value = isinstance(row, Adjustment) and row.value is not None
    return {
        "id": str(row),
        "conversion_id": str(conversion),
        "value": str(row.value) if has_value else None,
        "conversion_name": row.action,
        "status": event.to_state,
        "attempt_count": details.get("attempt_count", row.attempt_count),
        "error_code": details.get("provider_error_code"),
        "error_category": details.get("provider_error_category"),
        "error_message": mask_error(details.get("last_error", ""), conversion),
        "console_url": console_url(type(row), row.pk),
    }


def describe_circuits(events: Sequence[Event]) -> dict[int, Described]:
    moves = moved(events)
    rows = Circuit.objects.select_related("site").in_bulk(list(ids_of(moves)))
    return {event.pk: _circuit(event, rows[event.object_id]) for event in moves if event.object_id in rows}


def _circuit(event: Event, row: Circuit) -> Described:
    details = event.details
    data: CircuitEventData = {
        "id": str(row.pk),
        "site_id": row.site.public_id,
        "conversion_name": row.action or None,
        "status": CircuitStatus(event.to_state),
        "error_code": details.get("code") or None,
        "error_category": details.get("category") or None,
        "error_message": mask_identifiers(details.get("reason", "")) or None,
        "console_url": console_url(Site, row.site_id),
    }
    return Described(data, scope=str(row.site_id))


def describe_sites(events: Sequence[Event]) -> dict[int, Described]:
    sites = Site.objects.in_bulk(list(ids_of(events)))
    return {event.pk: _site(event, sites[event.object_id]) for event in events if event.object_id in sites}


def _site(event: Event, site: Site) -> Described:
    data: SiteEventData = {
        "id": site.public_id,
        "is_paused": event.event_type == PAUSED,
        "reason": mask_identifiers(event.message) or None,
        "console_url": console_url(Site, site.pk),
    }
    return Described(data, scope=str(site.pk))


def moved(events: Iterable[Event]) -> list[Event]:
    """Return the events that changed a state, without failures that were reported before a retry was taken back."""
    return [
        event for event in events if event.from_state != event.to_state and event.details.get("verb") != "undo_retry"
    ]


def ids_of(events: Iterable[Event]) -> set[object]:
    return {event.object_id for event in events}


PUBLIC_ID = "3f2a9c5e8b7d4f60a1b2c3d4e5f60718"
CONSOLE = "https://kilit.example/admin/ociqueue"
CONVERSION_ID = "01936f2e-8a41-7c3e-9d50-6b1f0e2a4c77"
COMPLETED: ConversionEventData = {
    "id": f"seal_{CONVERSION_ID}",
    "site_id": PUBLIC_ID,
    "conversion_name": "Satış",
    "order_id": "b7a1e0c94d2f",
    "source_key": "S-1001",
    "status": ConversionStatus.COMPLETED,
    "attempt_count": 1,
    "error_code": None,
    "error_category": None,
    "error_message": None,
    "console_url": f"{CONSOLE}/conversion/{CONVERSION_ID}/change/",
}
UPLOADED: ConversionEventData = {**COMPLETED, "status": ConversionStatus.UPLOADED}
FAILED: ConversionEventData = {
    **COMPLETED,
    "status": ConversionStatus.FAILED,
    "error_code": "EXPIRED_EVENT",
    "error_category": Category.VALIDATION,
    "error_message": "The click is too old.",
}
ADJUSTMENT_ID = "01936f2e-8a41-7c3e-9d50-6b1f0e2a4c78"
ADJUSTMENT_COMPLETED: AdjustmentEventData = {
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
ADJUSTMENT_UPLOADED: AdjustmentEventData = {**ADJUSTMENT_COMPLETED, "status": ConversionStatus.UPLOADED}
ADJUSTMENT_FAILED: AdjustmentEventData = {
    **ADJUSTMENT_COMPLETED,
    "status": ConversionStatus.FAILED,
    "error_code": "OVERTAKEN",
    "error_category": Category.PERMANENT,
    "error_message": "A newer adjustment of the same conversion takes its place.",
}
SITE_ID = "01936f2e-0000-7000-8000-000000000001"
SITE_PAUSED: SiteEventData = {
    "id": PUBLIC_ID,
    "is_paused": True,
    "reason": "The budget is used up.",
    "console_url": f"{CONSOLE}/site/{SITE_ID}/change/",
}
SITE_RESUMED: SiteEventData = {**SITE_PAUSED, "is_paused": False, "reason": None}
CIRCUIT_OPENED: CircuitEventData = {
    "id": "01936f2e-9b52-7d4f-8e61-7c2a1f3b5d88",
    "site_id": PUBLIC_ID,
    "conversion_name": None,
    "status": CircuitStatus.OPEN,
    "error_code": "USER_PERMISSION_DENIED",
    "error_category": Category.AUTH,
    "error_message": "The user has no access to the account.",
    "console_url": f"{CONSOLE}/site/{SITE_ID}/change/",
}
CIRCUIT_CLOSED: CircuitEventData = {
    **CIRCUIT_OPENED,
    "status": CircuitStatus.CLOSED,
    "error_code": None,
    "error_category": None,
    "error_message": None,
}


def _kind(name: str, description: Any, example: Mapping[str, Any], event_type: str = "") -> WebhookKind:
    queue, _dot, state = name.partition(".")
    data, describe = KINDS_OF[queue]
    event_types = (event_type or f"STATE_{state.upper()}",)
    return WebhookKind(
        name, queue, event_types, about=description, data=data, example=example, describe=describe, is_of_sites=True
    )


KINDS_OF = {
    CONVERSIONS.queue: (ConversionEventData, describe_conversions),
    ADJUSTMENTS.queue: (AdjustmentEventData, describe_adjustments),
    SITES: (SiteEventData, describe_sites),
    CIRCUITS.queue: (CircuitEventData, describe_circuits),
}
KINDS = (
    _kind(
        "conversion.uploaded", _("Google has a conversion; its verdict comes later (Data Manager API only)."), UPLOADED
    ),
    _kind(
        "conversion.completed", _("Google confirmed a conversion, or the script reported it as uploaded."), COMPLETED
    ),
    _kind("conversion.failed", _("A conversion failed."), FAILED),
    _kind("site.paused", _("A site was paused: nothing is exported or sent."), SITE_PAUSED, PAUSED),
    _kind("site.resumed", _("A site was resumed."), SITE_RESUMED, RESUMED),
    _kind("circuit.opened", _("A site's uploads stopped."), CIRCUIT_OPENED, "STATE_OPEN"),
    _kind("circuit.closed", _("A site's uploads continue."), CIRCUIT_CLOSED),
    _kind(
        "adjustment.uploaded",
        _("Google has an adjustment; its verdict comes later (Data Manager only)."),
        ADJUSTMENT_UPLOADED,
    ),
    _kind(
        "adjustment.completed",
        _("Google confirmed an adjustment, or nothing had to be sent."),
        ADJUSTMENT_COMPLETED,
    ),
    _kind("adjustment.failed", _("An adjustment failed, or a newer one took its place."), ADJUSTMENT_FAILED),
)
