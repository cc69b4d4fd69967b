"""`manage.py backup FOLDER`: back up the database and its files while everything runs."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.backup.dump import take
from kilit.backup.programs import BackupRefused, ProgramFailed
from kilit.database.origin import UnusableTables
from kilit.workers.management.checked_settings import SETTINGS


class Command(BaseCommand):
    help = "Back up the database and its files into a new folder, while everything runs."
    requires_system_checks = (SETTINGS,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="a new folder; it appears when the backup is complete")
        parser.add_argument(
            "--without-files", action="store_true", help="only the database, for example when the bucket is versioned"
        )

    def handle(self, *args: object, **options: Any) -> None:
        folder: Path = options["folder"].absolute()
        if folder.exists():
            raise CommandError(f"{folder} already exists; choose a new folder.")
        try:
            manifest = take(folder, with_files=not options["without_files"])
        except FileExistsError as error:
            raise CommandError(
                f"{error.filename} exists: another backup is running, or one was killed; then remove the folder."
            ) from None
        except (OSError, BackupRefused, ProgramFailed, UnusableTables) as error:
            raise CommandError(f"No backup was made: {error}") from error
        files = len(list(manifest.artifacts()))
        self.stdout.write(f"Backed up {sum(manifest.rows.values())} rows and {files} files to {folder}.")
        if manifest.lost:
            # The backup is kept, but the exit code must show that it is incomplete.
            names = ", ".join(manifest.lost[:5])
            raise CommandError(f"{len(manifest.lost)} files are missing or differ from their rows: {names}")
