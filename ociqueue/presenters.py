"""What operators are told about a queue without counting its rows."""

import base64
import binascii
from typing import Any
from uuid import UUID

from ociqueue.filters import FILTERS
from ociqueue.models import Circuit, Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.overview import Overview, overviews
from ociqueue.states import CONVERSIONS


def stats(site: Site) -> dict[str, Any]:
    """Return one site's totals, what is stuck, and how its script or its circuit is doing."""
    return _shown(site, overviews([site])[site.pk])


def summed(sites: list[Site]) -> dict[str, Any]:
    """Return the totals of several sites together, and each."""
    found = overviews(sites)
    each = [_shown(site, found[site.pk]) for site in sites]
    return {
        "siteId": None,
        "totals": {state: sum(told["totals"][state] for told in each) for state in CONVERSIONS.states},
        "stuckProcessing": sum(told["stuckProcessing"] for told in each),
        "lastUpdatedAt": max((told["lastUpdatedAt"] for told in each if told["lastUpdatedAt"]), default=None),
        "sites": each,
    }


def _shown(site: Site, overview: Overview) -> dict[str, Any]:
    return {
        "siteId": site.public_id,
        "totals": {state: overview.totals[state] for state in CONVERSIONS.states},
        "stuckProcessing": overview.stuck,
        "lastUpdatedAt": overview.changed_at and overview.changed_at.isoformat(),
        "errorRate": overview.error_rate,
        "alarming": overview.is_alarming,
        "lastExportAt": site.last_export_at and site.last_export_at.isoformat(),
        "lastAckAt": site.last_ack_at and site.last_ack_at.isoformat(),
        "scriptIsSilent": overview.is_silent,
        "needsCredentials": overview.needs_credentials,
        "circuit": overview.circuit and _shown_circuit(overview.circuit),
    }


def _shown_circuit(circuit: Circuit) -> dict[str, Any]:
    return {
        "code": circuit.code,
        "reason": circuit.reason,
        "openedAt": circuit.opened_at and circuit.opened_at.isoformat(),
        "nextProbeAt": circuit.next_probe_at and circuit.next_probe_at.isoformat(),
    }


def rows_page(site: Site, *, limit: int, status: str | None, cursor: str | None) -> dict[str, Any]:
    """Return a page of rows, newest first, and where the next begins; ids never move, so pages are stable."""
    rows = with_upload(Conversion.objects.for_site(site)).order_by("-id")
    rows = FILTERS.apply(rows, {"status": status} if status else {})
    rows = rows.filter(pk__lt=read_cursor(cursor)) if cursor else rows
    page = list(rows[: limit + 1])
    told: dict[str, Any] = {"siteId": site.public_id, "rows": [row(conversion) for conversion in page[:limit]]}
    if len(page) > limit:
        told["nextCursor"] = base64.urlsafe_b64encode(page[limit - 1].pk.bytes).decode().rstrip("=")
    return told


def read_cursor(text: str) -> UUID:
    """Return the id a cursor stands for; ValueError for what is none of ours."""
    try:
        return UUID(bytes=base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        raise ValueError("This cursor is not one of ours.") from None


def row(conversion: Conversion) -> dict[str, Any]:
    """Return a row as the operators' API shows it, without its click id."""
    times = ("conversion_time", "created_at", "updated_at", "claimed_at", "next_retry_at", "uploaded_at")
    spoken = {_camel(name): getattr(conversion, name) for name in times}
    return {
        "id": f"{PREFIX}{conversion.pk}",
        "status": conversion.status,
        "conversionName": conversion.action,
        "orderId": conversion.order_id,
        "conversionValue": float(conversion.value),
        "conversionCurrency": conversion.currency,
        "attemptCount": conversion.attempt_count,
        "attemptsForgiven": conversion.attempts_forgiven,
        "lastError": conversion.last_error or None,
        "providerErrorCode": conversion.provider_error_code or None,
        "providerErrorCategory": conversion.provider_error_category or None,
        "providerRequestId": conversion.provider_request_id or None,
        "outcomeUnknown": outcome_unknown(conversion),
        **{name: time and time.isoformat() for name, time in spoken.items()},
    }


def with_upload(rows: ConversionQuerySet) -> ConversionQuerySet:
    """Fetch along the upload that holds each row, but not its list of rows, which may be long."""
    return rows.select_related("open_batch").defer("open_batch__row_ids")


def outcome_unknown(conversion: Conversion) -> bool:
    """Tell whether a row was sent and nobody knows what became of it: earlier, or in the upload that holds it."""
    return conversion.outcome_unknown or bool(conversion.open_batch and conversion.open_batch.sent_at)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
