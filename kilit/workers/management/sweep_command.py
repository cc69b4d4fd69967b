"""The base of commands that run a scheduled task by hand."""

from collections.abc import Callable

from django.core.management.base import BaseCommand, CommandParser

from kilit.lock.audit import acting_as


class SweepCommand(BaseCommand):
    """Calls the task's verb and prints its sentence; with --dry-run, prints what it would do."""

    # It runs every few minutes: loading the console to check it would take longer than the task. Services do.
    requires_system_checks = ()
    preview: Callable[..., str]  # called with the command's options
    run: Callable[..., str]

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only print how many there are")

    def handle(self, *args: object, **options: object) -> None:
        if options["dry_run"]:
            self.stdout.write(self.preview(**options))
            return
        name = type(self).__module__.rpartition(".")[2]
        with acting_as(f"command:{name}"):
            self.stdout.write(self.run(**options))
