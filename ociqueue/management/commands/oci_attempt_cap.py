"""`manage.py oci_attempt_cap`: fail conversions that used up their attempts."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kilit.lock.audit import acting_as
from kilit.lock.management.arguments import minutes, whole_number
from ociqueue.models import Conversion
from ociqueue.sweeps import attempt_cap


class Command(BaseCommand):
    help = "Fail conversions that used up their attempts."

    def add_arguments(self, parser: CommandParser) -> None:
        attempts = whole_number(least=1, most=1000)
        parser.add_argument("--max-attempts", type=attempts, help="default: 5 on the script path, 8 on the API path")
        parser.add_argument("--min-age-minutes", type=minutes, default=0, help="skip rows changed more recently")
        parser.add_argument("--dry-run", action="store_true", help="only show how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        bounds = {"max_attempts": options["max_attempts"], "min_age": timedelta(minutes=options["min_age_minutes"])}
        if options["dry_run"]:
            self.stdout.write(f"Would cap {Conversion.objects.over_cap(**bounds).count()}.")
            return
        with acting_as("command:oci_attempt_cap"):
            self.stdout.write(attempt_cap(**bounds))
