from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from kilit.database.limits import limit_statements
from kilit.workers.management.checked_settings import SETTINGS
from kilit.workers.processes import die_with_parent, stop_on_signal
from orchestrator.models import Job
from orchestrator.workflow.runner import tick
from orchestrator.workflow.watching import watch


class Command(BaseCommand):
    help = "Work the due cutting jobs once, or with --watch until stopped."
    requires_system_checks = (SETTINGS,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--watch", action="store_true", help="run until SIGTERM or Ctrl-C")
        parser.add_argument("--dry-run", action="store_true", help="only print how many are due")

    def handle(self, *args: object, **options: object) -> None:
        if options["dry_run"]:
            self.stdout.write(f"Would work {Job.objects.claimable().count()}.")
            return
        with stop_on_signal() as stop:
            if not settings.FLOOR_IS_HERE:
                self.stdout.write(
                    "The folders are on another machine (KILIT_FLOOR_IS_HERE is false): nothing to do here."
                )
            if not options["watch"]:
                self.stdout.write(f"Worked {tick(patient=True, stopping=stop.is_set)}.")
                return
            die_with_parent()
            limit_statements(settings.DATABASE_TIMEOUT)
            if settings.FLOOR_IS_HERE:
                watch(stop)
            else:
                while not stop.wait(1):
                    pass  # the Procfile's services end together
            self.stdout.write("Stopped.")
