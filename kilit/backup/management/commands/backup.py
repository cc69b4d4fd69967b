"""`manage.py backup FOLDER`: the database and its files, while everything runs."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.backup.files import StoreUnavailable
from kilit.backup.programs import ProgramFailed
from kilit.backup.taking import NothingThere, take


class Command(BaseCommand):
    help = "Back up the database and the files its rows speak of into a new folder, while everything runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="a folder that is not there yet; it appears when it is whole")
        parser.add_argument(
            "--without-files", action="store_true", help="only the database: the bucket keeps versions of its own"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"].absolute()
        if folder.exists():
            raise CommandError(f"{folder} is there already; a backup wants a new folder.")
        try:
            manifest = take(folder, with_files=not options["without_files"])
        except FileExistsError as error:
            raise CommandError(
                f"{error.filename} is there: another backup runs, or one was killed; remove it."
            ) from None
        except (OSError, NothingThere, ProgramFailed, StoreUnavailable) as error:
            raise CommandError(f"No backup was made: {error}") from error
        files = len(list(manifest.artifacts()))
        self.stdout.write(f"Backed up {sum(manifest.rows.values())} rows and {files} files to {folder}.")
        if manifest.lost:
            # The rest is whole and kept; but whoever watches the exit code must hear of it.
            shown = ", ".join(manifest.lost[:5])
            raise CommandError(f"{len(manifest.lost)} files are missing, or not what their rows say: {shown}")
