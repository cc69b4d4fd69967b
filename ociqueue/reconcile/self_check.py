"""Checks every night that our own counts add up: what became of an upload's rows is what was sent."""

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
    total, since = 0, Now() - CHECKED
    # All rows of an upload, and all rows of a request with a verdict, ended in one of these ways.
    answered = UploadBatch.objects.filter(created_at__gte=since, answered_at__isnull=False)
    ended = F("accepted") + F("received") + F("failed") + F("put_off") + F("late")
    miscounted = answered.annotate(rows=Cardinality("row_ids") + F("unsent")).exclude(rows=ended)
    settled = Receipt.objects.filter(batch__created_at__gte=since, settled_at__isnull=False)
    ended = F("confirmed") + F("rejected") + F("put_off") + F("late")
    misjudged = settled.annotate(rows=Cardinality("row_ids")).exclude(rows=ended)
    for site in Site.objects.all():
        ids = {*miscounted.filter(site=site).values_list("pk", flat=True)}
        uploads = sorted(map(str, ids.union(misjudged.filter(batch__site=site).values_list("batch", flat=True))))
        total += len(uploads)
        if uploads or ReadBack.objects.filter(site=site).exclude(miscounted=[]).exists():
            ReadBack.objects.note(site, miscounted=uploads[:MOST_LISTED])
    return f"Uploads that do not add up: {total}."
