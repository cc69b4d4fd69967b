from typing import Any

from kilit.workers.management.sweep_command import SweepCommand
from ociqueue.models import Conversion
from ociqueue.states import SyncMethod
from ociqueue.sweeps import requeue_transient


class Command(SweepCommand):
    help = "Retry TRANSIENT failures on sites that ask for it."

    def preview(self, **options: Any) -> str:
        return f"Would requeue {sum(Conversion.objects.requeueable(path).count() for path in SyncMethod)}."

    def run(self, **options: Any) -> str:
        return requeue_transient()
