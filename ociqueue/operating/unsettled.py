"""Rows of a site that its Google account may have, and whose result is open: they matter when the account changes.

Google counts an order id once, but only within one account. Sent to another account, a row counts there as well.
"""

from dataclasses import dataclass

from django.db.models import Count, Q

from ociqueue.models import Conversion, Site
from ociqueue.states import IN_UPLOAD, WAITING, ConversionStatus


@dataclass(frozen=True)
class UnsettledRows:
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
