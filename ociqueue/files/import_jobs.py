"""Imports in the background: a file is kept, read and checked, and after the operator has confirmed it, stored.

The file is kept in parts until the import ends, and the lines that were not stored some days longer.
"""

from typing import IO, Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import translation
from django.utils.translation import gettext as _

from kilit.access.roles import actor_of
from kilit.csv.reader import FileTally
from kilit.csv.text import find_encoding
from kilit.lock.audit import acting_as
from kilit.lock.text import CONTROL_CHARS
from kilit.workers import doorbells
from ociqueue.files.adjustments import AdjustmentTable, AdjustmentTally, is_of_adjustments
from ociqueue.files.conversions import ConversionTable, ImportTally
from ociqueue.files.corrections import CorrectionTable, CorrectionTally, is_of_corrections
from ociqueue.files.import_stream import keep_file
from ociqueue.files.table import CsvTable
from ociqueue.models import ImportChunk, ImportJob, ImportKey, ImportLine, Site
from ociqueue.models.import_job import ImportKind

BELL = "oci_import"

TABLES: dict[str, type[CsvTable[Any]]] = {
    ImportKind.CONVERSIONS: ConversionTable,
    ImportKind.ADJUSTMENTS: AdjustmentTable,
    ImportKind.CORRECTIONS: CorrectionTable,
}
TALLIES: dict[str, type[FileTally]] = {
    ImportKind.CONVERSIONS: ImportTally,
    ImportKind.ADJUSTMENTS: AdjustmentTally,
    ImportKind.CORRECTIONS: CorrectionTally,
}


def begin(site: Site, user: User, file: UploadedFile[bytes]) -> ImportJob:
    """Keep a file for the workers; CsvError if its encoding is not certain, or its columns are not known."""
    stream: IO[bytes] = file.file  # type: ignore[assignment]
    encoding = find_encoding(stream)
    kind = kind_of(stream, encoding)
    next(TABLES[kind](site, stream, encoding=encoding).cells(), None)  # it looks at the columns first
    with transaction.atomic():
        job = ImportJob.objects.create(
            site=site,
            asked_by=user,
            kind=kind,
            encoding=encoding,
            size=file.size or 0,
            file_name=CONTROL_CHARS.sub("", file.name or "")[:200],
            language=translation.get_language() or "en",
        )
        keep_file(job, stream)
        doorbells.ring(BELL)
    return job


def kind_of(stream: IO[bytes], encoding: str = "") -> ImportKind:
    """Return what the lines of a file are, by the names of its columns."""
    if is_of_adjustments(stream, encoding=encoding):
        return ImportKind.ADJUSTMENTS
    return ImportKind.CORRECTIONS if is_of_corrections(stream, encoding=encoding) else ImportKind.CONVERSIONS


def reason_of(kind: str) -> str:
    """Return the reason that the timelines of rows show."""
    if kind == ImportKind.ADJUSTMENTS:
        return _("Adjusted in a file.")
    return _("Corrected in a file.") if kind == ImportKind.CORRECTIONS else ""


def may_import(user: User | AnonymousUser, site: Site) -> bool:
    may_operate = user.is_staff and user.has_perm("ociqueue.operate_conversion")
    return may_operate and Site.objects.run_by(user).filter(pk=site.pk).exists()


def start(job: ImportJob) -> bool:
    started = ImportJob.objects.filter(pk=job.pk).start()
    doorbells.ring(BELL)
    return bool(started)


@transaction.atomic
def cancel(job: ImportJob) -> bool:
    """Stop before the next batch; lines that were stored stay."""
    stopped = ImportJob.objects.filter(pk=job.pk).cancel()
    if stopped:
        job.refresh_from_db()
        end(job)
    return bool(stopped)


def end(job: ImportJob) -> None:
    """Delete the file of an import that has ended, and show in the activity what it stored. Needs a transaction.

    What its lines name is left to `tidy`: there may be millions of them, and a page cannot wait for that.
    """
    ImportChunk.objects.filter(job=job).delete()
    with acting_as(actor_of(job.asked_by)):
        TABLES[job.kind].record(job.site, job.counts.get("created", 0))


def tidy() -> str:
    """Cancel imports that were not confirmed in time, and delete what is left of those that have ended."""
    cancelled = sum(map(cancel, ImportJob.objects.never_confirmed()))
    for job in ImportJob.objects.ended().filter(Exists(ImportKey.objects.filter(job=OuterRef("pk")))):
        ImportKey.objects.filter(job=job).delete()
    deleted, _by_model = ImportLine.objects.outdated().delete()
    return f"Cancelled {cancelled}, deleted {deleted} lines."
