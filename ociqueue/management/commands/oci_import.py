from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from kilit.csv.reader import FileTally
from kilit.csv.text import CsvError, read_table_header
from kilit.lock.audit import acting_as, without_activity
from kilit.sentences import english
from ociqueue.files.conversions import ImportTally, format_advice
from ociqueue.files.import_jobs import COMMAND, TABLES, kind_of
from ociqueue.files.import_run import ENGINE, import_now
from ociqueue.management.sites import find_active_site
from ociqueue.models import Site
from ociqueue.schemas.adjustments import FIELDS as ADJUSTMENT_FIELDS
from ociqueue.schemas.conversions import FIELDS
from ociqueue.states import ImportState

WIDTH = 30


class ProgressBar:
    """Shows progress on a terminal, and nothing elsewhere."""

    def __init__(self, out: Any, size: int) -> None:
        self.out, self.size = out, size
        self.is_shown = size > 0 and out.isatty()

    def show(self, position: int, text: str) -> None:
        if self.is_shown:
            share = min(1.0, position / self.size)
            drawn = "█" * round(WIDTH * share)
            self._write(f"{drawn:░<{WIDTH}} {share:4.0%}  {text}")

    def clear(self) -> None:
        if self.is_shown:
            self._write("")

    def _write(self, text: str) -> None:
        self.out.write(f"\r\x1b[K{text}", str, ending="")  # `str`: not in the red of errors
        self.out.flush()


class Command(BaseCommand):
    help = (
        "Store the conversions of a CSV file, as Excel saves it or as Google's own template, with the columns "
        f"{', '.join(FIELDS)}. "
        "It can be run twice: a line without a sourceKey is known by its conversionName and click id, so the second "
        "run stores nothing, and reports lines with another time, value or currency. A file with a column kind is one "
        f"of adjustments, with the columns {', '.join(ADJUSTMENT_FIELDS)}; one with a column id has corrections, such "
        "as the console's export of failed rows."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--site", help="public id or uuid; without it, the column siteId names each line's site")
        parser.add_argument("--dry-run", action="store_true", help="check everything, store nothing")

    def handle(self, *args: object, **options: Any) -> None:
        site = find_active_site(options["site"]) if options["site"] else None
        try:
            with options["file"].open("rb") as file, TemporaryFile() as copy, acting_as(COMMAND):
                if not file.seekable():  # a pipe, which cannot be read twice
                    copyfileobj(file, copy)
                    copy.seek(0)
                stream = file if file.seekable() else copy
                size = options["file"].stat().st_size
                self._import(site, stream, name=options["file"].name, size=size, dry_run=options["dry_run"])
        except OSError as error:
            raise CommandError(f"Cannot read {options['file']}: {error.strerror}.") from None
        except CsvError as error:
            raise CommandError(f"Cannot read {options['file']}: {error}") from None

    def _import(self, site: Site | None, stream: IO[bytes], *, name: str, size: int, dry_run: bool) -> None:
        kind = kind_of(read_table_header(stream))
        tally, bar = TABLES[kind].tally(), ProgressBar(self.stderr, size)

        def report(batch: FileTally, done_bytes: int) -> None:
            tally.add(batch)
            bar.clear()
            for line in batch.reported:
                self.stdout.write("\n".join(map(str, line.fields)))
            bar.show(done_bytes, f"{tally.lines:,} lines")

        try:
            job = import_now(site, stream, name=name, kind=kind, is_confirmed=not dry_run, report=report)
        except KeyboardInterrupt:
            raise CommandError("Stopped; a second run stores the rest.", returncode=130) from None
        finally:
            # Also when the database connection is lost: report what was stored.
            bar.clear()
            if tally.lines:
                self.stdout.write(tally.summary(dry_run=dry_run))
        if dry_run:
            with transaction.atomic(), without_activity():
                ENGINE.cancel(job)
        if job.status == ImportState.REFUSED:
            raise CsvError(english(job.error))
        if job.error:
            raise CommandError(english(job.error))
        if not tally.lines:
            self.stdout.write(tally.summary(dry_run=dry_run))
        if isinstance(tally, ImportTally) and tally.differing_lines:
            self.stdout.write(format_advice())
