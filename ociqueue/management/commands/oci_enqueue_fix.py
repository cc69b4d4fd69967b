from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.csv.text import CsvError
from kilit.lock.audit import acting_as
from ociqueue import sentences
from ociqueue.files.corrections import COLUMNS, read_corrections
from ociqueue.intake.corrections import Correction, replace_rows
from ociqueue.management.sites import find_active_site
from ociqueue.models import Site


class Command(BaseCommand):
    help = (
        "Correct rows that wait, and queue corrected copies of FAILED rows, and of COMPLETED rows that Google Ads "
        "shows as rejected. Give a CSV "
        f"file with the columns {', '.join(COLUMNS)}, such as the console's export of failed rows: all but id are "
        "optional, and an empty cell keeps the value. COMPLETED rows can also be named, to send them again unchanged. "
        "A copy keeps the order id of its original, so Google counts it once; each row is replaced once, so a second "
        "run does nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ids", nargs="*", metavar="ID", help="seal_<uuid> or uuid")
        parser.add_argument("--file", type=Path, metavar="FILE.csv")
        parser.add_argument("--site", required=True, help="public id or uuid")
        parser.add_argument("--dry-run", action="store_true", help="show what would be done, change nothing")

    def handle(self, *args: object, **options: Any) -> None:
        site = find_active_site(options["site"])
        if not options["ids"] and not options["file"]:
            raise CommandError("Name rows, or give a --file.")
        replaced = total = 0
        try:
            with ExitStack() as stack, acting_as("command:oci_enqueue_fix", reason=sentences.CORRECTED_COPY):
                # The file first: if it cannot be read, nothing is done.
                corrections = chain(self._from_file(site, options["file"], stack), map(Correction, options["ids"]))
                for result in replace_rows(site, corrections, dry_run=options["dry_run"]):
                    self.stdout.write(str(result))
                    total, replaced = total + 1, replaced + bool(result.corrected)
        except OSError as error:
            raise CommandError(f"Cannot read {options['file']}: {error.strerror}.") from None
        except CsvError as error:
            raise CommandError(f"Cannot read {options['file']}: {error}") from None
        verb = "Would correct" if options["dry_run"] else "Corrected"
        self.stdout.write(f"{verb} {replaced:,} of {total:,}.")

    def _from_file(self, site: Site, path: Path | None, stack: ExitStack) -> Iterator[Correction]:
        return read_corrections(site, stack.enter_context(path.open("rb"))) if path else iter(())
