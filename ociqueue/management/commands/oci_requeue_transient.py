from kilit.workers.management.sweep_command import SweepCommand
from ociqueue.models import Conversion
from ociqueue.operating.sweeps import requeue_transient
from ociqueue.states import SyncMethod


class Command(SweepCommand):
    help = "Retry TRANSIENT failures on sites that ask for it."

    def preview(self, **options: object) -> str:
        return f"Would requeue {sum(Conversion.objects.requeueable(path).count() for path in SyncMethod)}."

    def run(self, **options: object) -> str:
        return requeue_transient()
