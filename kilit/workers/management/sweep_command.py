"""Commands that run a scheduled task by hand, made from the tasks' declarations."""

import sys
from functools import partial
from types import ModuleType

from django.core.management import get_commands
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import override

from kilit.lock.audit import acting_as
from kilit.workers.sweeps import Sweep, sweeps

APP = "kilit.workers"


class SweepCommand(BaseCommand):
    """Calls the task's verb and prints its sentence; with --dry-run, prints what it would do."""

    # It runs every few minutes: loading the console to check it would take longer than the task. Services do.
    requires_system_checks = ()

    def __init__(self, sweep: Sweep) -> None:
        super().__init__()
        self.sweep = sweep
        with override("en"):
            self.help = str(sweep.about)

    def add_arguments(self, parser: CommandParser) -> None:
        if self.sweep.preview:
            parser.add_argument("--dry-run", action="store_true", help="only print how many there are")
        for option in self.sweep.options:
            parser.add_argument(option.flag, type=option.type, default=option.default, help=option.help)

    def handle(self, *args: object, **options: int | None) -> None:
        values = {option.keyword: option.value(options[option.name]) for option in self.sweep.options}
        try:
            if self.sweep.preview and options["dry_run"]:
                self.stdout.write(self.sweep.preview(**values))
                return
            with acting_as(f"command:{self.sweep.name}"):
                self.stdout.write((self.sweep.by_hand or self.sweep.run)(**values))
        except OSError as error:  # of a disk, or of a bucket, whose own tracebacks are long
            raise CommandError(f"{self.sweep.name} could not run: {error}") from error


def add_commands() -> None:
    """Let Django find a command for each sweep that has none: it knows commands by the names of their modules."""
    commands = get_commands()
    for name, sweep in sweeps.items():
        if name not in commands:
            module = ModuleType(f"{APP}.management.commands.{name}")
            module.Command = partial(SweepCommand, sweep)  # type: ignore[attr-defined]
            sys.modules[module.__name__] = module
            commands[name] = APP
