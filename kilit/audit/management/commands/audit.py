"""`manage.py audit`: hold the event log against the tables, and say whether every move is listed."""

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.audit.run import audit, describe, report, sentence

MOST_PRINTED = 20


class Command(BaseCommand):
    help = "Replay the event log against the tables, from where the last audit ended."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--full", action="store_true", help="read the whole log again")
        parser.add_argument("--json", type=Path, metavar="FILE", help="write the report to this file")

    def handle(self, *args: object, full: bool, json: Path | None, **options: object) -> None:
        record = audit(full=full)
        if json:
            json.write_text(report(record))
        for breach in record.breaches[:MOST_PRINTED]:
            self.stderr.write(describe(breach))
        if record.breach_count:
            raise CommandError(sentence(record), returncode=1)
        self.stdout.write(sentence(record))
