"""`manage.py oci_recover_processing`: take conversions back from scripts and workers that never reported."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kilit.lock.audit import acting_as
from kilit.lock.management.arguments import minutes
from ociqueue.models import Conversion
from ociqueue.sweeps import recover_processing


class Command(BaseCommand):
    help = "Take back conversions that were claimed too long ago."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--min-age-minutes", type=minutes, default=15)
        parser.add_argument("--dry-run", action="store_true", help="only show how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        min_age = timedelta(minutes=options["min_age_minutes"])
        if options["dry_run"]:
            self.stdout.write(f"Would recover {Conversion.objects.stuck(min_age=min_age).count()}.")
            return
        with acting_as("command:oci_recover_processing"):
            self.stdout.write(recover_processing(min_age=min_age))
