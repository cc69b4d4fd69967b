"""`manage.py pdf_reap`: take jobs away from workers that died or hang (PDF-7)."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from lifecycle.actor import acting_as
from pdfjobs.models import PdfJob
from pdfjobs.sweeps import reap


class Command(BaseCommand):
    """Runs what the schedule runs every few seconds."""

    help = "Bring back PDF jobs whose worker did not report in time."

    def add_arguments(self, parser: CommandParser) -> None:
        """Offer to look only."""
        parser.add_argument("--dry-run", action="store_true", help="only say how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        """Reap, or look."""
        if options["dry_run"]:
            self.stdout.write(f"Would reap {PdfJob.objects.held_too_long().count()}.")
            return
        with acting_as("command:pdf_reap"):
            self.stdout.write(reap())
