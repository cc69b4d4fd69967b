"""The audit's check of imports: each line of a file is counted, and the rows that its events name are as many."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import BooleanField, Func
from django.db.models.functions import Now

from ociqueue import sentences
from ociqueue.models import Adjustment, Conversion, ImportJob
from ociqueue.models.import_job import ImportKind, adds_up
from ociqueue.operating.filters import ImportFilter
from ociqueue.states import ImportState

STORED: dict[str, type[Conversion] | type[Adjustment]] = {
    ImportKind.CONVERSIONS: Conversion,
    ImportKind.ADJUSTMENTS: Adjustment,
}
ROWS_COUNTED_FOR = timedelta(days=1)  # later, rows may have been pruned


def imports_that_do_not_add_up() -> Iterator[str]:
    done = ImportJob.objects.filter(status=ImportState.DONE)
    for job in done.exclude(Func(template=adds_up("ociqueue_importjob"), output_field=BooleanField())):
        yield sentences.IMPORT_UNACCOUNTED % {"import": job.pk, "lines": job.line_count}
    for job in done.filter(kind__in=STORED, finished_at__gt=Now() - ROWS_COUNTED_FOR):
        rows = STORED[job.kind].objects.filter(ImportFilter().condition(str(job.pk))).count()
        created = job.counts.get("created", 0)
        # A corrected line may have made a copy.
        if not created <= rows <= created + job.counts.get("corrected", 0):
            yield sentences.IMPORT_ROWS % {"import": job.pk, "created": created, "rows": rows}
