"""What webhooks report about conversions, adjustments, sites and circuits: ids, states and errors, no click ids."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise
from pydantic import Field
from typing_extensions import TypedDict

from kilit.api.input_model import Id
from kilit.api.presenter import present
from kilit.api.webhooks import Described, WebhookKind, console_url
from kilit.lock.guard import LifecycleQuerySet
from kilit.lock.models import Event
from kilit.masking import mask_identifiers
from kilit.sentences import english
from kilit.sites.schemas.operations import PublicId
from kilit.sites.site_events import PAUSED, RESUMED, SITES
from ociqueue.models import Adjustment, Circuit, Conversion, Site
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


def describe_moves(
    among: LifecycleQuerySet[Any],
    values: Callable[[Event, Any], dict[str, object]],
    shape: type,
    events: Sequence[Event],
) -> dict[int, Described]:
    """Describe moves, but not those to a failure that was reported before its retry was taken back."""
    moves = [
        event for event in events if event.from_state != event.to_state and event.details.get("verb") != "undo_retry"
    ]
    rows = {row.pk: row for row in among.filter(pk__any_of={event.object_id for event in moves})}
    sites = dict(Site.objects.filter(pk__in={row.site_id for row in rows.values()}).values_list("pk", "public_id"))
    return {
        event.pk: Described(present(row, shape, site_id=sites[row.site_id], **values(event, row)), str(row.site_id))
        for event in moves
        if (row := rows.get(event.object_id)) is not None
    }


def _row(event: Event, row: Conversion | Adjustment) -> dict[str, object]:
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


def _circuit(event: Event, row: Circuit) -> dict[str, object]:
    details = event.details
    return {
        "id": str(row.pk),
        "conversion_name": row.action,
        "status": event.to_state,
        "error_code": details.get("code"),
        "error_category": details.get("category"),
        "error_message": mask_identifiers(english(details.get("reason", ""))),
        "console_url": console_url(Site, row.site_id),
    }


def describe_sites(shape: type, events: Sequence[Event]) -> dict[int, Described]:
    sites = Site.objects.in_bulk([event.object_id for event in events])
    return {
        event.pk: Described(present(site, shape, **_site(event, site)), str(site.pk))
        for event in events
        if (site := sites.get(event.object_id)) is not None
    }


def _site(event: Event, site: Site) -> dict[str, object]:
    return {
        "id": site.public_id,
        "is_paused": event.event_type == PAUSED,
        "reason": mask_identifiers(event.message),
        "console_url": console_url(Site, site.pk),
    }


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
SITE_ID = "01936f2e-0000-7000-8000-000000000001"
SITE_PAUSED: SiteEventData = {
    "id": PUBLIC_ID,
    "is_paused": True,
    "reason": "The budget is used up.",
    "console_url": f"{CONSOLE}/site/{SITE_ID}/change/",
}
CIRCUIT_CLOSED: CircuitEventData = {
    "id": "01936f2e-9b52-7d4f-8e61-7c2a1f3b5d88",
    "site_id": PUBLIC_ID,
    "conversion_name": None,
    "status": CircuitStatus.CLOSED,
    "error_code": None,
    "error_category": None,
    "error_message": None,
    "console_url": f"{CONSOLE}/site/{SITE_ID}/change/",
}


def _kind(name: str, description: StrOrPromise, event_type: str = "", **differing: object) -> WebhookKind:
    """Return a kind; its example is that of its queue, but for these values."""
    queue = name.partition(".")[0]
    data, describe, example = KINDS_OF[queue]
    return WebhookKind(
        name,
        queue,
        (event_type or f"STATE_{differing['status']}",),
        about=description,
        data=data,
        example={**example, **differing},
        describe=partial(describe, data),
        is_of_sites=True,
    )


def _error(code: str, category: Category, message: str) -> dict[str, str]:
    return {"error_code": code, "error_category": category, "error_message": message}


# Events come by the thousand: nothing of a conversion is read that is not needed.
CONVERSION_ROWS = Conversion.objects.only(
    "site_id", "action", "order_id", "source_key", "attempt_count", *Conversion.CLICK_IDS
)
ADJUSTMENT_ROWS = Adjustment.objects.select_related("original")
KINDS_OF: Mapping[str, tuple[type, Callable[..., Mapping[int, Described]], Mapping[str, object]]] = {
    CONVERSIONS.queue: (ConversionEventData, partial(describe_moves, CONVERSION_ROWS, _row), COMPLETED),
    ADJUSTMENTS.queue: (AdjustmentEventData, partial(describe_moves, ADJUSTMENT_ROWS, _row), ADJUSTMENT_COMPLETED),
    SITES: (SiteEventData, describe_sites, SITE_PAUSED),
    CIRCUITS.queue: (CircuitEventData, partial(describe_moves, Circuit.objects.all(), _circuit), CIRCUIT_CLOSED),
}
UPLOADED, FAILED = ConversionStatus.UPLOADED, ConversionStatus.FAILED
TOO_OLD = _error("EXPIRED_EVENT", Category.VALIDATION, "The click is too old.")
NO_ACCESS = _error("USER_PERMISSION_DENIED", Category.AUTH, "The user has no access to the account.")
OVERTAKEN = _error("OVERTAKEN", Category.PERMANENT, "A newer adjustment of the same conversion takes its place.")
KINDS = (
    _kind(
        "conversion.uploaded",
        _("Google has a conversion; its verdict comes later (Data Manager API only)."),
        status=UPLOADED,
    ),
    _kind(
        "conversion.completed",
        _("Google confirmed a conversion, or the script reported it as uploaded."),
        status=ConversionStatus.COMPLETED,
    ),
    _kind("conversion.failed", _("A conversion failed."), status=FAILED, **TOO_OLD),
    _kind("site.paused", _("A site was paused: nothing is exported or sent."), PAUSED),
    _kind("site.resumed", _("A site was resumed."), RESUMED, is_paused=False, reason=None),
    _kind("circuit.opened", _("A site's uploads stopped."), status=CircuitStatus.OPEN, **NO_ACCESS),
    _kind("circuit.closed", _("A site's uploads continue."), status=CircuitStatus.CLOSED),
    _kind(
        "adjustment.uploaded",
        _("Google has an adjustment; its verdict comes later (Data Manager only)."),
        status=UPLOADED,
    ),
    _kind(
        "adjustment.completed",
        _("Google confirmed an adjustment, or nothing had to be sent."),
        status=ConversionStatus.COMPLETED,
    ),
    _kind("adjustment.failed", _("An adjustment failed, or a newer one took its place."), status=FAILED, **OVERTAKEN),
)
