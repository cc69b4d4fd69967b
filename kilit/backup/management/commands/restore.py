"""`manage.py restore FOLDER`: check and restore a backup."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.backup.programs import BackupRefused, ProgramFailed
from kilit.backup.restore import restore, verify
from kilit.database.origin import UnusableTables


class Command(BaseCommand):
    help = "Restore a backup of `manage.py backup`. The database must be empty and not in use."
    requires_system_checks = ()  # there may be no tables yet

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="a folder made by `manage.py backup`")
        parser.add_argument("--replace", action="store_true", help="delete the current data of the database")
        parser.add_argument(
            "--check", action="store_true", help="only compare the checksums of all files; the database is not touched"
        )

    def handle(self, *args: object, **options: Any) -> None:
        folder: Path = options["folder"].absolute()
        try:
            if options["check"]:
                manifest = verify(folder)
                self.stdout.write(f"The backup of {manifest.made_at} is complete: {len(manifest.sums)} files.")
                return
            manifest, notes = restore(folder, replace=options["replace"])
        except (BackupRefused, UnusableTables) as error:
            raise CommandError(str(error)) from error
        except (OSError, ProgramFailed) as error:
            raise CommandError(f"The restore failed; the database was not changed: {error}") from error
        files = len(list(manifest.artifacts()))
        self.stdout.write(f"Restored {sum(manifest.rows.values())} rows and {files} files from {manifest.made_at}.")
        for note in notes:
            self.stdout.write(note)
        self.stdout.write("Now start web, workers and runners.")
