"""Lines that an import rejected, corrected on its page: those that are right now are stored, the others stay."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from kilit.csv.numbers import POINT, read_number
from kilit.csv.reader import CsvLine, FileTally
from kilit.csv.text import TableHeader
from kilit.masking import IDENTIFIERS
from ociqueue.files.import_jobs import TABLES, acting_for, sites_for
from ociqueue.files.import_run import keep_lines
from ociqueue.files.site_tables import SiteTables
from ociqueue.models import ImportJob, ImportLine
from ociqueue.models.import_job import SITE_COLUMN, LineIndex


def correct_lines(job: ImportJob, typed: Mapping[int, Mapping[str, str]], user: User) -> FileTally:
    """Store what was typed in place of rejected lines, by their numbers."""
    with transaction.atomic():
        # Of two who correct the same line, the second finds it gone.
        job = ImportJob.objects.select_for_update().get(pk=job.pk)
        kind = TABLES[job.kind]
        kept = ImportLine.objects.shown_for(job).filter(is_differing=False, line__in=typed)
        lines = [_read(line, typed[line.line], kind.amounts) for line in kept]
        if job.is_open or not lines:
            return kind.tally()
        columns = {SITE_COLUMN, *(name for line in lines for name in line.cells)}
        is_personal = not columns.isdisjoint(IDENTIFIERS)
        lines = [replace(line, is_personal=is_personal) for line in lines]
        tables = SiteTables(kind, job.site, TableHeader(",", sorted(columns)))
        with acting_for(user, reason=job.reason):
            tally = tables.process(lines, LineIndex(job), mark=POINT, sites=sites_for(user), dry_run=False)
            if job.site:
                kind.record(job.site, tally.created)
        kept.filter(line__in=[line.number for line in lines]).delete()
        keep_lines(job, tally, kept=0, dry_run=False)
        total = kind.tally(**cast("Any", job.counts))
        total.lines -= len(lines)
        total.rejected_lines -= len(lines)
        total.add(tally)
        ImportJob.objects.filter(pk=job.pk).update(counts=total.counts(), updated_at=Now())
    return tally


def _read(line: ImportLine, typed: Mapping[str, str], amounts: Sequence[str]) -> CsvLine:
    """Return a line as it was typed. Its amounts alone cannot show what 1.250 means, so that is refused."""
    cells, fault = dict(typed), ""
    for name in amounts:
        if name in cells and cells[name] != line.cells.get(name):
            try:
                cells[name] = str(read_number(cells[name]))
            except ValueError as error:
                fault = f"{name}: {error}"
    return CsvLine(line.line, cells, fault, delimiter=line.delimiter)
