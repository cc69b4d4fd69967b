"""`manage.py forget_denied_requests`: the daily sweep, by hand."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kilit.access.models import DeniedRequest


class Command(BaseCommand):
    help = "Forget refusals that were kept long enough."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self.stdout.write(f"Would forget {DeniedRequest.objects.old().count()}.")
        else:
            self.stdout.write(f"Forgot {DeniedRequest.objects.forget_old()}.")
