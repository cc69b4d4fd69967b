from typing import Any

from kilit.workers.management.sweep_command import SweepCommand
from ociqueue.models import Conversion
from ociqueue.sweeps import end_unsendable


class Command(SweepCommand):
    help = "End conversions that wait and are not sent: consent was denied, or they are over 90 days old."

    def preview(self, **options: Any) -> str:
        return f"Would withhold {Conversion.objects.withheld().count()}, expire {Conversion.objects.expired().count()}."

    def run(self, **options: Any) -> str:
        return end_unsendable()
