from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kilit.lock.audit import acting_as
from orchestrator.models import Job
from orchestrator.saw.saw_handover import release_lapsed


class Command(BaseCommand):
    help = "Release cutting jobs of dead runners."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only print how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self.stdout.write(f"Would release {Job.objects.lapsed().count()}.")
            return
        with acting_as("command:orchestrator_release_lapsed"):
            self.stdout.write(f"Released {release_lapsed()}.")
