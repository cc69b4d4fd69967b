"""Rows of a site that are not finished: they matter when its Google account changes, or it is archived.

Google counts an order id once, but only within one account. Sent to another account, a row counts there as well.
"""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q

from ociqueue.models import Adjustment, Conversion, ImportJob, Site
from ociqueue.states import IMPORT_WORKING, IN_UPLOAD, WAITING, ConversionStatus, ImportState


@dataclass(frozen=True)
class UnsettledRows:
    """Those that the account may have, and whose result is open."""

    processing: int
    uploaded: int
    unknown_waiting: int  # the next sender sends them again
    unknown_failed: int  # a retry would

    def __bool__(self) -> bool:
        return any((self.processing, self.uploaded, self.unknown_waiting, self.unknown_failed))

    def __str__(self) -> str:
        """Return the numbers for the site's history, which is read in other languages, too."""
        unknown = f"{self.unknown_waiting} waiting and {self.unknown_failed} failed with an unknown outcome"
        return f"{self.processing} PROCESSING, {self.uploaded} UPLOADED, {unknown}"


def with_open_rows(sentence: str, rows: UnsettledRows) -> str:
    """Return what the history says of a change; it is read in other languages, too."""
    return f"{sentence}, with unsettled rows: {rows}." if rows else f"{sentence}."


def unsettled_rows(site: Site) -> UnsettledRows:
    rows = Conversion.objects.for_site(site)
    held = dict(rows.filter(status__in=IN_UPLOAD).values_list("status").annotate(number=Count("pk")).order_by())
    unknown = rows.filter(outcome_unknown=True).aggregate(
        waiting=Count("pk", filter=Q(status__in=WAITING)),
        failed=Count("pk", filter=Q(status=ConversionStatus.FAILED, is_replaced=False)),
    )
    return UnsettledRows(
        processing=held.get(ConversionStatus.PROCESSING, 0),
        uploaded=held.get(ConversionStatus.UPLOADED, 0),
        unknown_waiting=unknown["waiting"],
        unknown_failed=unknown["failed"],
    )


def sites_with_open_rows(sites: Collection[UUID]) -> set[UUID]:
    """Return those with rows that wait, are being sent or have no verdict yet, or with an import that goes on."""
    ids: set[UUID] = set()
    for model in (Conversion, Adjustment):
        rows = model.objects.filter(site__in=sites, status__in=(*WAITING, *IN_UPLOAD)).order_by()
        ids.update(rows.values_list("site", flat=True).distinct())
    imports = ImportJob.objects.filter(site__in=sites, status__in=(*IMPORT_WORKING, ImportState.READY))
    return ids | set(imports.values_list("site", flat=True))
