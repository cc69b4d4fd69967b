from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kilit.lock.audit import acting_as
from pdfjobs.models import PdfJob
from pdfjobs.work import reap


class Command(BaseCommand):
    help = "Take PDF jobs back from workers that died or hang."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count them")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self.stdout.write(f"Would reap {PdfJob.objects.held_too_long().count()}.")
            return
        with acting_as("command:pdf_reap"):
            self.stdout.write(reap())
