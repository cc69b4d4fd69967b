"""Imports: a file is kept, read and checked, and after the operator has confirmed it, stored.

The file is kept in parts until the import ends, and the lines that were not stored some days longer.
"""

import io
from contextlib import AbstractContextManager
from functools import partial
from typing import IO

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.utils import translation

from kilit.access.encryption import decrypt_bytes, encrypt_bytes
from kilit.access.roles import actor_of
from kilit.csv.reader import column_names
from kilit.csv.text import TableHeader, read_table_header
from kilit.lock.audit import acting_as
from kilit.lock.text import CONTROL_CHARS
from kilit.sites.models import SiteQuerySet
from ociqueue.files.adjustments import AdjustmentTable
from ociqueue.files.conversions import ConversionTable
from ociqueue.files.corrections import CorrectionTable
from ociqueue.files.site_tables import SiteTables
from ociqueue.files.table import CsvTable
from ociqueue.models import ImportChunk, ImportJob, Site
from ociqueue.models.import_job import ImportKind

BELL = "oci_import"
COMMAND = "command:oci_import"  # whose imports have no user
CHUNK = 1 << 20  # bytes of a part of a file

TABLES: dict[str, type[CsvTable]] = {
    ImportKind.CONVERSIONS: ConversionTable,
    ImportKind.ADJUSTMENTS: AdjustmentTable,
    ImportKind.CORRECTIONS: CorrectionTable,
}


def begin(
    site: Site | None,
    stream: IO[bytes],
    *,
    user: User | None = None,
    name: str = "",
    kind: ImportKind | None = None,
    is_confirmed: bool = False,
) -> ImportJob:
    """Keep a file to import; CsvError if its encoding is not certain, or its columns are not known."""
    header = read_table_header(stream)
    kind = kind or kind_of(header)
    SiteTables(TABLES[kind], site, header).reader(stream)
    size = stream.seek(0, io.SEEK_END)
    with transaction.atomic():
        job = ImportJob.objects.create(
            site=site,
            asked_by=user,
            kind=kind,
            encoding=header.encoding,
            size=size,
            file_name=CONTROL_CHARS.sub("", name)[:200],
            language=translation.get_language() or "en",
            is_confirmed=is_confirmed,
        )
        stream.seek(0)
        for number, content in enumerate(iter(partial(stream.read, CHUNK), b"")):
            ImportChunk.objects.create(job=job, number=number, content=encrypt_bytes(content))
    return job


def kind_of(header: TableHeader) -> ImportKind:
    """Return what the lines of a file are, by the names of its columns."""
    names = column_names(header)
    if "kind" in names or "Adjustment Type" in names:
        return ImportKind.ADJUSTMENTS
    return ImportKind.CORRECTIONS if "id" in names else ImportKind.CONVERSIONS


def may_import(user: User | AnonymousUser, site: Site | None) -> bool:
    may_operate = user.is_staff and user.has_perm("ociqueue.operate_conversion")
    return may_operate and (site is None or Site.objects.run_by(user).filter(pk=site.pk).exists())


def sites_for(user: User | None) -> SiteQuerySet[Site]:
    """Return the sites that lines of a file may name; a command has no user."""
    return Site.objects.run_by(user) if user else Site.objects.active()


def acting_for(user: User | None, *, reason: str = "") -> AbstractContextManager[None]:
    return acting_as(actor_of(user) if user else COMMAND, reason=reason)


def end(job: ImportJob) -> None:
    """Delete the file of an import that has ended, and show in the activity what it stored. Needs a transaction.

    What its lines name is left to `tidy`: there may be millions of them, and a page cannot wait for that.
    """
    ImportChunk.objects.filter(job=job).delete()
    with acting_for(job.asked_by):
        if job.site:  # for others, each batch was recorded at its sites
            TABLES[job.kind].record(job.site, job.counts.get("created", 0))


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

    def readinto(self, buffer: "bytearray | memoryview[int]") -> int:  # type: ignore[override]
        number, start = divmod(self._position, CHUNK)
        content = self._chunk(number)[start : start + len(buffer)]
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)

    def _chunk(self, number: int) -> bytes:
        if number != self._number and number * CHUNK < self._job.size:
            content = ImportChunk.objects.values_list("content", flat=True).get(job=self._job, number=number)
            self._number, self._content = number, decrypt_bytes(bytes(content))
        return self._content if number == self._number else b""
