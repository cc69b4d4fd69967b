from datetime import timedelta

from django.core.management.base import CommandParser

from kilit.lock.management.arguments import minutes, whole_number
from kilit.workers.management.sweep_command import SweepCommand
from ociqueue.models import Conversion
from ociqueue.operating.sweeps import attempt_cap


class Command(SweepCommand):
    help = "Fail conversions that used up their attempts."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        attempts = whole_number(least=1, most=1000)
        parser.add_argument("--max-attempts", type=attempts, help="default: 5 on the script path, 8 on the API path")
        parser.add_argument("--min-age-minutes", type=minutes, default=0, help="skip rows changed more recently")

    def preview(self, *, max_attempts: int | None, min_age_minutes: int, **options: object) -> str:
        rows = Conversion.objects.over_cap(max_attempts=max_attempts, min_age=timedelta(minutes=min_age_minutes))
        return f"Would cap {rows.count()}."

    def run(self, *, max_attempts: int | None, min_age_minutes: int, **options: object) -> str:
        return attempt_cap(max_attempts=max_attempts, min_age=timedelta(minutes=min_age_minutes))
