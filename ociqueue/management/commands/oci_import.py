"""`manage.py oci_import`: store the conversions of a CSV file."""

from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.lock.audit import acting_as
from ociqueue.csv_import import Tally, Unreadable, import_file
from ociqueue.entry import FIELDS
from ociqueue.management.bar import Bar
from ociqueue.management.sites import site_called
from ociqueue.models import Site


class Command(BaseCommand):
    help = (
        f"Store the conversions of a CSV file (UTF-8; comma or semicolon) whose columns are {', '.join(FIELDS)}. "
        "It can be run twice: a line without a sourceKey gets one made of its conversionName, click id and "
        "conversionTime, so the second run stores nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--site", required=True, help="public id or uuid")
        parser.add_argument("--dry-run", action="store_true", help="check everything, store nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        site = site_called(options["site"])
        try:
            with options["file"].open("rb") as stream, acting_as("command:oci_import"):
                self._import(site, stream, size=options["file"].stat().st_size, dry_run=options["dry_run"])
        except OSError as error:
            raise CommandError(f"Cannot read {options['file']}: {error.strerror}.") from None
        except Unreadable as error:
            raise CommandError(f"Cannot read {options['file']}: {error}") from None

    def _import(self, site: Site, stream: IO[bytes], *, size: int, dry_run: bool) -> None:
        told = Tally()
        bar = Bar(self.stderr, size)
        try:
            for batch in import_file(site, stream, dry_run=dry_run):
                told.add(batch)
                bar.clear()
                for refused in batch.refused:
                    self.stdout.write(str(refused))
                bar.show(stream.tell(), f"{told.lines:,} lines")
        except KeyboardInterrupt:
            raise CommandError("Stopped; a second run stores the rest.", returncode=130) from None
        finally:
            # Also when the database goes away in the middle: what was stored is told.
            bar.clear()
            if told.lines:
                self.stdout.write(told.sentence(dry_run=dry_run))
        if not told.lines:
            self.stdout.write(told.sentence(dry_run=dry_run))
