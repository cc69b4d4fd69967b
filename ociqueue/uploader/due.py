"""Which sites have something to upload; the doorbell asks every second, so finished rows must cost nothing."""

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from ociqueue.models import Circuit, Conversion, Site, UploadBatch
from ociqueue.states import SyncMethod


def due_sites() -> "QuerySet[Site]":
    """Return sites with credentials and due rows, unless an open circuit without a due probe blocks them."""
    blocking = Circuit.objects.blocking()
    blocking_name = blocking.filter(site=OuterRef("site"), action=OuterRef("action"))
    rows = Conversion.objects.due().filter(~Exists(blocking_name), site=OuterRef("pk"))
    last = UploadBatch.objects.filter(site=OuterRef("pk")).order_by("-created_at").values("created_at")[:1]
    found = Site.objects.filter(
        ~Exists(blocking.filter(site=OuterRef("pk"), action=Circuit.EVERY_ACTION)),
        Exists(rows),
        sync_method=SyncMethod.API,
        is_paused=False,
        credentials__isnull=False,
    )
    # The site that uploaded last comes last, so that one site's backlog does not delay the others.
    return found.order_by(Subquery(last).asc(nulls_first=True), "pk")
