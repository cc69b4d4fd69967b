"""`manage.py prune`: delete finished rows that are older than the retention, with their events."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.lock import pruning
from kilit.lock.audit import acting_as
from kilit.lock.management.arguments import whole_number


class Command(BaseCommand):
    help = "Delete finished jobs that are older than the retention, with their events; a record of each batch stays."

    def add_arguments(self, parser: CommandParser) -> None:
        days = whole_number(least=1, most=36_500)
        parser.add_argument("--older-than-days", type=days, help="instead of KILIT_KEEP_FINISHED_DAYS")
        parser.add_argument("--queue", choices=sorted(pruning.prunables), help="only this queue")
        parser.add_argument("--dry-run", action="store_true", help="only print how many there are")

    def handle(self, *args: object, **options: Any) -> None:
        days = options["older_than_days"] or settings.KEEP_FINISHED_DAYS
        if not days:
            raise CommandError("Everything is kept: set KILIT_KEEP_FINISHED_DAYS, or pass --older-than-days.")
        age, queues = timedelta(days=days), [options["queue"]] if options["queue"] else []
        if options["dry_run"]:
            self.stdout.write(pruning.summary(pruning.count(older_than=age, queues=queues), verb="Would prune"))
            return
        with acting_as("command:prune", reason=pruning.TOO_OLD % {"days": days}):
            self.stdout.write(pruning.summary(pruning.prune(older_than=age, queues=queues)))
