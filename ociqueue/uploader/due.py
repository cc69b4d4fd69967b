"""Which sites have something to upload: asked every second by the bell, so finished rows must not cost anything."""

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from ociqueue.models import Circuit, Conversion, Site, UploadBatch
from ociqueue.states import SyncMethod


def due_sites() -> "QuerySet[Site]":
    """Return sites with a login, with rows that are due, and with no circuit in the way or one whose probe is due."""
    resting = Circuit.objects.resting()
    held_back = resting.filter(site=OuterRef("site"), action=OuterRef("action"))
    rows = Conversion.objects.due().filter(~Exists(held_back), site=OuterRef("pk"))
    last = UploadBatch.objects.filter(site=OuterRef("pk")).order_by("-created_at").values("created_at")[:1]
    found = Site.objects.filter(
        ~Exists(resting.filter(site=OuterRef("pk"), action=Circuit.EVERY_ACTION)),
        Exists(rows),
        sync_method=SyncMethod.API,
        is_paused=False,
        credentials__isnull=False,
    )
    # Whoever was served last comes last, so that nobody's backlog keeps others waiting.
    return found.order_by(Subquery(last).asc(nulls_first=True), "pk")
