"""`manage.py orchestrator_release_lapsed`: let jobs go on that a dead runner held."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kilit.lock.audit import acting_as
from orchestrator.models import Job
from orchestrator.workflow.sweeps import release_lapsed


class Command(BaseCommand):
    help = "Let cutting jobs go on whose runner is gone."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self.stdout.write(f"Would release {Job.objects.lapsed().count()}.")
            return
        with acting_as("command:orchestrator_release_lapsed"):
            self.stdout.write(release_lapsed())
