"""`manage.py oci_requeue_transient`: retry TRANSIENT failures on sites that ask for it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kilit.lock.audit import acting_as
from ociqueue.models import Conversion
from ociqueue.states import SyncMethod
from ociqueue.sweeps import requeue_transient


class Command(BaseCommand):
    help = "Retry TRANSIENT failures on sites that ask for it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only show how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            found = sum(Conversion.objects.requeueable(path).count() for path in SyncMethod)
            self.stdout.write(f"Would requeue {found}.")
            return
        with acting_as("command:oci_requeue_transient"):
            self.stdout.write(requeue_transient())
