"""What an import keeps of its file: the file in parts, what its lines name, and the lines that were not stored.

They hold personal data: the first two are deleted when the import ends, the last some days later.
"""

import json
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any, Self

from django.db import connection, models
from django.db.models import Q
from django.db.models.functions import Cast, Now

from kilit.csv.index import MOST_LINES, LineKey
from ociqueue.models.import_job import ImportJob
from ociqueue.models.site import Site

KEEP_LINES_FOR = timedelta(days=7)
ADD_KEYS = """
    INSERT INTO ociqueue_importkey (job_id, line, digest, value)
    SELECT %s, * FROM unnest(%s::int[], %s::bigint[], %s::bigint[])
"""
FIND_KEYS = """
    SELECT found.line, wanted.digest, found.value
    FROM unnest(%s::bigint[]) AS wanted (digest)
    CROSS JOIN LATERAL (
      SELECT line, value FROM ociqueue_importkey
      WHERE job_id = %s AND digest = wanted.digest ORDER BY line LIMIT %s
    ) AS found
"""


class ImportChunk(models.Model):
    """A part of the file: all machines' workers can read it."""

    job = models.ForeignKey(ImportJob, on_delete=models.PROTECT, related_name="chunks", db_index=False)
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="one_import_chunk")]

    def __str__(self) -> str:
        return f"part {self.number} of {self.job_id}"


class ImportKeyQuerySet(models.QuerySet["ImportKey"]):
    def add(self, job: ImportJob, keys: list[LineKey]) -> None:
        columns = [[key[place] for key in keys] for place in range(len(LineKey._fields))]
        with connection.cursor() as cursor:
            cursor.execute(ADD_KEYS, [job.pk, *columns])

    def find_lines(self, job: ImportJob, digests: Iterable[int]) -> dict[int, list[LineKey]]:
        """Return the first lines with these digests, one more than are looked at."""
        found: dict[int, list[LineKey]] = {}
        with connection.cursor() as cursor:
            cursor.execute(FIND_KEYS, [sorted(digests), job.pk, MOST_LINES + 1])
            for key in map(LineKey._make, cursor.fetchall()):
                found.setdefault(key.digest, []).append(key)
        return found


class ImportKey(models.Model):
    """What a line names, as `kilit.csv.index` says."""

    job = models.ForeignKey(ImportJob, on_delete=models.PROTECT, related_name="keys", db_index=False)
    line = models.PositiveIntegerField()
    digest = models.BigIntegerField()
    value = models.BigIntegerField()

    objects = ImportKeyQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        # A batch asks which other lines name the same.
        indexes = [models.Index(fields=["job", "digest", "line"], name="import_lines_by_key")]

    def __str__(self) -> str:
        return f"key of line {self.line} of {self.job_id}"


class ImportLineQuerySet(models.QuerySet["ImportLine"]):
    def shown_for(self, job: ImportJob) -> Self:
        """Return the lines that were not stored, or would not be while nothing is."""
        return self.filter(job=job, is_checked=not job.is_storing).order_by("line")

    def about(self, text: str, sites: Collection[Site]) -> Self:
        """Return lines in which a text is found, whatever its case."""
        found = self.filter(job__site__in=[site.pk for site in sites])
        as_json = json.dumps(text, ensure_ascii=False)[1:-1]
        return found.annotate(all_cells=Cast("cells", models.TextField())).filter(
            Q(all_cells__icontains=as_json) | Q(text__icontains=text) | Q(reason__icontains=text)
        )

    def outdated(self) -> Self:
        return self.filter(job__finished_at__lt=Now() - KEEP_LINES_FOR)


class ImportLine(models.Model):
    """A line that was not stored: it was rejected, or is stored already with other values."""

    job = models.ForeignKey(ImportJob, on_delete=models.PROTECT, related_name="lines", db_index=False)
    line = models.PositiveIntegerField()
    is_checked = models.BooleanField(help_text="Found by the check, before anything was stored.")
    is_differing = models.BooleanField(help_text="It is stored, with other values.")
    cells: Any = models.JSONField(help_text="By column, as the file of rejected lines shows them.")
    text = models.TextField(blank=True, help_text="Of a line that could not be read.")
    faults: Any = models.JSONField(help_text="What is wrong: a list of field, reason and value.")
    reason = models.TextField()
    delimiter = models.CharField(max_length=1)

    objects = ImportLineQuerySet.as_manager()

    class Meta:
        default_permissions = ()
        # The page and the file show them in the order of the file.
        indexes = [models.Index(fields=["job", "is_checked", "is_differing", "line"], name="import_lines_in_order")]

    def __str__(self) -> str:
        return f"line {self.line} of {self.job_id}"
