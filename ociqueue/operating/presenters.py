"""Sites and conversions as the operators' API shows them."""

from typing import Any, TypeVar
from uuid import UUID

from kilit.api.cursor import cut_page
from kilit.api.presenter import present
from ociqueue.models import Conversion, ReadBack, Site
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.operating.filters import FILTERS
from ociqueue.operating.site_health import SiteHealth, site_health
from ociqueue.schemas.columns import columns_of
from ociqueue.schemas.responses import ConversionRow, GoogleCounts, OpenActionCircuit, OpenCircuit, SiteStats
from ociqueue.states import CONVERSIONS

COUNTED = ("accepted", "failed", "unknown", "google", "findings")
Rows = TypeVar("Rows", bound=UploadableQuerySet[Any])


def stats(site: Site) -> SiteStats:
    return _site_stats(site, site_health([site])[site.pk])


def summed_stats(sites: list[Site]) -> dict[str, object]:
    health = site_health(sites)
    every = [_site_stats(site, health[site.pk]) for site in sites]
    return {
        "siteId": None,
        "totals": {state: sum(each.totals[state] for each in health.values()) for state in CONVERSIONS.states},
        "stuckProcessing": sum(stats["stuckProcessing"] for stats in every),
        "lastUpdatedAt": max((stats["lastUpdatedAt"] for stats in every if stats["lastUpdatedAt"]), default=None),
        "sites": every,
    }


def _site_stats(site: Site, health: SiteHealth) -> SiteStats:
    return present(
        health,
        SiteStats,
        siteId=site.public_id,
        totals={state: health.totals[state] for state in CONVERSIONS.states},
        stuckProcessing=health.stuck,
        lastUpdatedAt=health.changed_at,
        alarming=health.is_alarming,
        lastExportAt=site.last_export_at,
        lastAckAt=site.last_ack_at,
        scriptIsSilent=health.is_silent,
        loginTestFailed=health.is_test_failed,
        circuit=health.circuit and present(health.circuit, OpenCircuit),
        circuits=[
            present(circuit, OpenActionCircuit, conversionName=name)
            for name, circuit in sorted(health.circuits.items())
        ],
    )


def google_counts(site: Site) -> GoogleCounts:
    stored = ReadBack.objects.filter(site=site).first() or ReadBack(site=site)
    actions = [
        {"day": row["day"], "action": row["name"], **{name: row[name] for name in COUNTED}} for row in stored.days
    ]
    return present(stored, GoogleCounts, siteId=site.public_id, actions=actions)


def rows_page(site: Site, *, limit: int, status: str | None, cursor: UUID | None) -> dict[str, object]:
    rows = with_upload(Conversion.objects.for_site(site)).order_by("-id")
    rows = FILTERS.apply(rows, {"status": status} if status else {})
    rows = rows.filter(pk__lt=cursor) if cursor else rows
    conversions, following = cut_page(list(rows[: limit + 1]), limit)
    page: dict[str, Any] = {"siteId": site.public_id, "rows": [row(conversion) for conversion in conversions]}
    if following:
        page["nextCursor"] = following
    return page


def row(conversion: Conversion) -> ConversionRow:
    columns = columns_of(conversion, ConversionRow.__annotations__)
    return present(conversion, ConversionRow, **{**columns, "conversionValue": float(conversion.value)})


def with_upload(rows: Rows) -> Rows:
    """Fetch the upload that holds each row, without its list of rows, which may be long."""
    return rows.select_related("open_batch").defer("open_batch__row_ids")
