"""`manage.py orchestrator_tick`: work what is due, once or for as long as it is watched."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from kilit.workers.processes import die_with_parent
from orchestrator.models import Job
from orchestrator.workflow.runner import tick, watch


class Command(BaseCommand):
    help = "Work cutting jobs that are due; with --watch until told to stop."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--watch", action="store_true", help="go on until SIGTERM or Ctrl-C")
        parser.add_argument("--dry-run", action="store_true", help="only say how many are due")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            self.stdout.write(f"Would work {Job.objects.due().count()}.")
            return
        with asked_to_stop() as stop:
            if not settings.FLOOR_IS_HERE:
                self.stdout.write("The floor is on another machine (KILIT_FLOOR_IS_HERE is false): nothing to do here.")
            if not options["watch"]:
                self.stdout.write(f"Worked {tick(patient=True, stopping=stop.is_set)}.")
                return
            die_with_parent()
            if settings.FLOOR_IS_HERE:
                watch(stop)
            else:
                while not stop.wait(1):
                    pass  # the Procfile's services end together
            self.stdout.write("Stopped.")


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and Ctrl-C set, so that a job is let go of rather than left."""
    stop = threading.Event()

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
