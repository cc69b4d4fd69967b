"""Checks every night that our own counts add up: what became of an upload's rows is what was sent."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import F, Func, IntegerField
from django.db.models.functions import Now

from ociqueue.models import ReadBack, Receipt, Site, UploadBatch

CHECKED = timedelta(days=4)  # a verdict comes within three
MOST_LISTED = 20


class Cardinality(Func):
    function, output_field = "cardinality", IntegerField()


def check_uploads() -> str:
    """Note for each site which of its last uploads do not add up; return a sentence about all."""
    total = 0
    for site in Site.objects.all():
        uploads = sorted({*miscounted_uploads(site), *miscounted_receipts(site)})
        total += len(uploads)
        if uploads or ReadBack.objects.filter(site=site).exclude(miscounted=[]).exists():
            ReadBack.objects.note(site, miscounted=uploads[:MOST_LISTED])
    return f"Uploads that do not add up: {total}."


def miscounted_uploads(site: Site) -> Iterator[str]:
    """Yield uploads whose rows did not all end as accepted, received, failed, deferred or late."""
    recent = UploadBatch.objects.filter(site=site, created_at__gte=Now() - CHECKED, answered_at__isnull=False)
    settled = F("accepted") + F("received") + F("failed") + F("put_off") + F("late")
    uneven = recent.annotate(rows=Cardinality("row_ids") + F("unsent")).exclude(rows=settled)
    yield from map(str, uneven.values_list("pk", flat=True))


def miscounted_receipts(site: Site) -> Iterator[str]:
    """Yield uploads with a verdict that was not settled for each row of its request."""
    settled = Receipt.objects.filter(batch__site=site, batch__created_at__gte=Now() - CHECKED, settled_at__isnull=False)
    ended = F("confirmed") + F("rejected") + F("put_off") + F("late")
    uneven = settled.annotate(rows=Cardinality("row_ids")).exclude(rows=ended)
    yield from map(str, uneven.values_list("batch", flat=True))
