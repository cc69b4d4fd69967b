"""Imports in the background: a file is kept, read and checked, and after the operator has confirmed it, stored.

The file is kept in parts until the import ends, and the lines that were not stored some days longer.
"""

import io
from functools import partial
from typing import IO, Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from kilit.access.roles import actor_of
from kilit.csv.reader import FileTally, read_header
from kilit.csv.text import find_encoding
from kilit.lock.audit import acting_as
from kilit.lock.text import CONTROL_CHARS
from kilit.workers import doorbells
from ociqueue.files.adjustments import AdjustmentTable, AdjustmentTally
from ociqueue.files.conversions import ConversionTable, ImportTally
from ociqueue.files.corrections import CorrectionTable, CorrectionTally
from ociqueue.files.table import CsvTable
from ociqueue.models import ImportChunk, ImportJob, Site
from ociqueue.models.import_job import ImportKind

BELL = "oci_import"
CHUNK = 1 << 20  # bytes of a part of a file

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
    """Return what the lines of a file are, by the names of its columns; the stream is at its beginning again."""
    names = read_header(stream, encoding=encoding)
    stream.seek(0)
    if "kind" in names or "Adjustment Type" in names:
        return ImportKind.ADJUSTMENTS
    return ImportKind.CORRECTIONS if "id" in names else ImportKind.CONVERSIONS


def reason_of(kind: str) -> str:
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


def end(job: ImportJob) -> None:
    """Delete the file of an import that has ended, and show in the activity what it stored. Needs a transaction.

    What its lines name is left to `tidy`: there may be millions of them, and a page cannot wait for that.
    """
    ImportChunk.objects.filter(job=job).delete()
    with acting_as(actor_of(job.asked_by)):
        TABLES[job.kind].record(job.site, job.counts.get("created", 0))


def keep_file(job: ImportJob, file: IO[bytes]) -> None:
    file.seek(0)
    for number, content in enumerate(iter(partial(file.read, CHUNK), b"")):
        ImportChunk.objects.create(job=job, number=number, content=content)


def open_file(job: ImportJob) -> IO[bytes]:
    return io.BufferedReader(ChunkReader(job), buffer_size=CHUNK)


class ChunkReader(io.RawIOBase):
    """Reads the parts of a file; it holds one of them."""

    def __init__(self, job: ImportJob) -> None:
        self._job, self._position = job, 0
        self._number, self._content = -1, b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._job.size}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: "bytearray | memoryview[int]") -> int:  # type: ignore[override]
        number, start = divmod(self._position, CHUNK)
        content = self._chunk(number)[start : start + len(buffer)]
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)

    def _chunk(self, number: int) -> bytes:
        if number != self._number and number * CHUNK < self._job.size:
            content = ImportChunk.objects.values_list("content", flat=True).get(job=self._job, number=number)
            self._number, self._content = number, bytes(content)
        return self._content if number == self._number else b""
