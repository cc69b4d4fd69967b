"""`manage.py forget_refusals`: the daily sweep, by hand."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lifecycle.models import RefusedRequest


class Command(BaseCommand):
    """Deletes refusals older than KILIT_KEEP_REFUSALS_DAYS."""

    help = "Forget refusals that were kept long enough."

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer a rehearsal."""
        parser.add_argument("--dry-run", action="store_true", help="only say how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        """Forget, or say what would be forgotten."""
        if options["dry_run"]:
            self.stdout.write(f"Would forget {RefusedRequest.objects.old().count()}.")
        else:
            self.stdout.write(f"Forgot {RefusedRequest.objects.forget_old()}.")
