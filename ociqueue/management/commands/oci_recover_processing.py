from datetime import timedelta

from django.core.management.base import CommandParser

from kilit.lock.management.arguments import minutes
from kilit.workers.management.sweep_command import SweepCommand
from ociqueue.models import Conversion
from ociqueue.operating.sweeps import recover_processing


class Command(SweepCommand):
    help = "Take back conversions that were claimed too long ago."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--min-age-minutes", type=minutes, default=15)

    def preview(self, *, min_age_minutes: int, **options: object) -> str:
        return f"Would recover {Conversion.objects.stuck(min_age=timedelta(minutes=min_age_minutes)).count()}."

    def run(self, *, min_age_minutes: int, **options: object) -> str:
        return recover_processing(min_age=timedelta(minutes=min_age_minutes))
