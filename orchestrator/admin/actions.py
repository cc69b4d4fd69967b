"""Approve, retry and cancel in the console: each says what it will do, asks why, and reports what it did."""

from django.utils.translation import gettext_lazy as _

from kilit.console.actions import Action
from orchestrator.workflow import operations

APPROVE = Action(
    operations.APPROVE,
    title=_("Approve"),
    done=_("Approved"),
    effect=_("They go back to NEW and are checked again; what is still wrong holds them again."),
    icon="check",
)
RETRY = Action(
    operations.RETRY,
    title=_("Retry"),
    done=_("Scheduled a retry of"),
    effect=_("They go back to NEW after a while, longer each time. Permanent errors are not retried."),
    icon="replay",
)
CANCEL = Action(
    operations.CANCEL,
    title=_("Cancel"),
    done=_("Cancelled"),
    effect=_("They end as FAILED with E_CANCELLED. Sheets in the import folder stay there."),
    icon="block",
    is_dangerous=True,
    back_label=_("Back"),
)
