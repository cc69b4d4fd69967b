"""The sweep that looks for problems, and those of disks, workers and queues."""

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from kilit.lock.free_text import register_free_text
from kilit.lock.pruning import register_prunable
from kilit.problems import disk, queues, workers
from kilit.problems.models import ProblemRecord
from kilit.problems.registry import ProblemSource, register_problems
from kilit.problems.tracking import track_problems
from kilit.workers.sweeps import register_sweep

register_problems(ProblemSource(disk.find), ProblemSource(workers.find), queues.PAUSES, queues.FAILURE_RATES)
register_free_text(ProblemRecord, "texts", "link", "mute_reason")
register_prunable(ProblemRecord, finished=lambda: [ProblemRecord.objects.closed()])
register_sweep(
    "track_problems",
    every=timedelta(minutes=1),
    run=track_problems,
    about=_("Looks for problems, and makes the alerts about them."),
)
