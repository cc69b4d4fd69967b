"""The doorbell and the sweep of bulk actions."""

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from kilit.batches import run
from kilit.batches.models import BulkAction, objects_of
from kilit.lock.free_text import FreeText, register_free_texts
from kilit.workers.doorbells import register_doorbells
from kilit.workers.sweeps import Sweep, register_sweeps

register_free_texts(
    FreeText(BulkAction, ("filters", "filters_text", "reason", "options", "error"), repeated_at=objects_of)
)
register_doorbells(run.ENGINE.doorbell())
register_sweeps(
    Sweep(
        "bulk_actions_tidy",
        every=timedelta(hours=1),
        run=run.tidy,
        about=_("Cancels bulk actions that were not confirmed in time, and deletes old results."),
    )
)
