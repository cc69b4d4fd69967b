"""`manage.py forget_denied_requests`: run the daily task by hand."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kilit.access.models import DeniedRequest


class Command(BaseCommand):
    help = "Delete denied requests older than the retention period."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only print how many would be deleted")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self.stdout.write(f"Would delete {DeniedRequest.objects.old().count()}.")
        else:
            self.stdout.write(f"Deleted {DeniedRequest.objects.forget_old()}.")
