from datetime import timedelta

from django.core.management.base import CommandParser

from kilit.lock.management.arguments import A_YEAR_OF_MINUTES, whole_number
from kilit.workers.management.sweep_command import SweepCommand
from pdfjobs import cleanup


class Command(SweepCommand):
    help = "Expire PDF jobs that are older than their time to live, and remove orphaned files."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        hours = whole_number(least=0, most=A_YEAR_OF_MINUTES // 60)
        parser.add_argument("--ttl-hours", type=hours, help="instead of KILIT_PDF_TTL_HOURS")

    def preview(self, *, ttl_hours: int | None, **options: object) -> str:
        return cleanup.preview(ttl=_ttl(ttl_hours)).format("Would expire {}, remove {}")

    def run(self, *, ttl_hours: int | None, **options: object) -> str:
        return cleanup.clean(ttl=_ttl(ttl_hours)).format()


def _ttl(hours: int | None) -> timedelta | None:
    return None if hours is None else timedelta(hours=hours)
