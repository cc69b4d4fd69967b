"""The audit's check of imports: each line of a file is counted, and the rows that its events name are as many."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import BooleanField, Func
from django.db.models.functions import Now

from ociqueue import sentences
from ociqueue.models import Adjustment, Conversion, ImportJob
from ociqueue.models.import_job import ImportKind, adds_up
from ociqueue.operating.filters import rows_of_import
from ociqueue.states import ImportState

STORED: dict[str, type[Conversion] | type[Adjustment]] = {
    ImportKind.CONVERSIONS: Conversion,
    ImportKind.ADJUSTMENTS: Adjustment,
}
NAMED_FOR = timedelta(days=1)  # later, rows may have been pruned
MOST_COUNTED = 200  # imports in one audit, the newest


def imports_that_do_not_add_up() -> Iterator[str]:
    done = ImportJob.objects.filter(status=ImportState.DONE, finished_at__gt=Now() - NAMED_FOR)
    for job in done.exclude(Func(template=adds_up("ociqueue_importjob"), output_field=BooleanField())):
        yield sentences.IMPORT_UNACCOUNTED % {"import": job.pk, "lines": job.line_count}
    for job in done.filter(kind__in=STORED).order_by("-id")[:MOST_COUNTED]:
        rows = STORED[job.kind].objects.filter(rows_of_import(job)).count()
        created = job.counts.get("created", 0)
        # A corrected line may have made a copy.
        if not created <= rows <= created + job.counts.get("corrected", 0):
            yield sentences.IMPORT_ROWS % {"import": job.pk, "created": created, "rows": rows}
