from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from kilit.lock.audit import acting_as
from kilit.lock.management.arguments import A_YEAR_OF_MINUTES, whole_number
from pdfjobs import cleanup


class Command(BaseCommand):
    help = "Expire PDF jobs that are older than their time to live, and remove orphaned files."

    def add_arguments(self, parser: CommandParser) -> None:
        hours = whole_number(least=0, most=A_YEAR_OF_MINUTES // 60)
        parser.add_argument("--ttl-hours", type=hours, help="instead of KILIT_PDF_TTL_HOURS")
        parser.add_argument("--dry-run", action="store_true", help="only count them")

    def handle(self, *args: Any, **options: Any) -> None:
        ttl = None if options["ttl_hours"] is None else timedelta(hours=options["ttl_hours"])
        if options["dry_run"]:
            self.stdout.write(cleanup.preview(ttl=ttl).format("Would expire {}, remove {}"))
            return
        with acting_as("command:pdf_cleanup"):
            self.stdout.write(cleanup.clean(ttl=ttl).format())
