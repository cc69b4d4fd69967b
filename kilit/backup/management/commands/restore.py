"""`manage.py restore FOLDER`: a backup put back, checked first."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.backup.files import StoreUnavailable
from kilit.backup.manifest import BadBackup
from kilit.backup.programs import ProgramFailed
from kilit.backup.restoring import Refused, look_through, restore


class Command(BaseCommand):
    help = "Restore a backup of `manage.py backup`; refuses a database that is not empty, or in use."
    requires_system_checks = ()  # there may be no tables to check yet

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="what `manage.py backup` made")
        parser.add_argument("--replace", action="store_true", help="what is in the database now is lost")
        parser.add_argument(
            "--check",
            action="store_true",
            help="only read every file and compare its checksum; the database is not touched",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"].absolute()
        try:
            if options["check"]:
                manifest = look_through(folder)
                self.stdout.write(f"The backup of {manifest.made_at} is whole: {len(manifest.sums)} files.")
                return
            manifest, told = restore(folder, replace=options["replace"])
        except (BadBackup, Refused) as error:
            raise CommandError(str(error)) from error
        except (OSError, ProgramFailed, StoreUnavailable) as error:
            raise CommandError(f"Not restored, the database is as it was: {error}") from error
        files = len(list(manifest.artifacts()))
        self.stdout.write(f"Restored {sum(manifest.rows.values())} rows and {files} files of {manifest.made_at}.")
        for words in told:
            self.stdout.write(words)
        self.stdout.write("Now start web, workers and runners.")
