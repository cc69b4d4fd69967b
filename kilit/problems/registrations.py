"""The sweep that looks for problems, and those of the disk."""

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from kilit.lock.free_text import register_free_text
from kilit.lock.pruning import register_prunable
from kilit.problems import disk
from kilit.problems.models import ProblemRecord
from kilit.problems.registry import register_problems
from kilit.problems.tracking import track_problems
from kilit.workers.sweeps import register_sweep

register_problems(disk.find)
register_free_text(ProblemRecord, "texts", "link", "mute_reason")
register_prunable(ProblemRecord, finished=lambda: [ProblemRecord.objects.closed()])
register_sweep(
    "track_problems",
    every=timedelta(minutes=1),
    run=track_problems,
    about=_("Looks for problems, and makes the alerts about them."),
)
