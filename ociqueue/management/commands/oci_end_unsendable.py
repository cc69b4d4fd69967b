from kilit.workers.management.sweep_command import SweepCommand
from ociqueue.models import Conversion
from ociqueue.operating.sweeps import end_unsendable


class Command(SweepCommand):
    help = "End conversions that wait and are not sent: consent was denied, they are over 90 days old, or retracted."

    def preview(self, **options: object) -> str:
        rows = Conversion.objects
        withheld, expired, retracted = (kind.count() for kind in (rows.withheld(), rows.expired(), rows.retracted()))
        return f"Would withhold {withheld}, expire {expired}, retract {retracted}."

    def run(self, **options: object) -> str:
        return end_unsendable()
