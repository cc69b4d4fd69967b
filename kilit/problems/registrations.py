"""The sweep that looks for problems, and those of disks, the proxy, PostgreSQL, workers and queues."""

from datetime import timedelta

from django.core.checks import register
from django.utils.translation import gettext_lazy as _

from kilit.lock.free_text import FreeText, register_free_texts
from kilit.lock.pruning import prunables
from kilit.problems import database, disk, exposure, horizon, queues, workers
from kilit.problems.checks import check_queues
from kilit.problems.models import ProblemRecord
from kilit.problems.registry import ProblemSource, register_problems
from kilit.problems.tracking import recent_visitors, register_readers, track_problems
from kilit.workers.management.checked_settings import SETTINGS
from kilit.workers.metrics import registry
from kilit.workers.sweeps import Sweep, register_sweeps

register(check_queues, SETTINGS)
register_problems(
    *map(ProblemSource, (disk.find, database.find, exposure.find, horizon.find, workers.find)),
    ProblemSource(workers.find_untaken, workers.untaken_rows),
    queues.PAUSES,
    queues.FAILURE_RATES,
)
registry.register(horizon.HorizonCollector())
register_readers(recent_visitors)
register_free_texts(FreeText(ProblemRecord, ("texts", "link", "mute_reason")))
prunables[ProblemRecord.lifecycle.queue] = lambda: [ProblemRecord.objects.closed()]
register_sweeps(
    Sweep(
        "track_problems",
        every=timedelta(minutes=1),
        run=track_problems,
        about=_("Looks for problems, and makes the alerts about them."),
    )
)
