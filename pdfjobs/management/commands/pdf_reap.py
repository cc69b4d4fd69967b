"""`manage.py pdf_reap`: take jobs away from workers that died or hang."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kilit.lock.audit import acting_as
from pdfjobs.models import PdfJob
from pdfjobs.sweeps import reap


class Command(BaseCommand):
    help = "Bring back PDF jobs whose worker did not report in time."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self.stdout.write(f"Would reap {PdfJob.objects.held_too_long().count()}.")
            return
        with acting_as("command:pdf_reap"):
            self.stdout.write(reap())
