"""Approve, retry and cancel in the console."""

from django.utils.translation import gettext_lazy as _

from kilit.console.actions import Action
from orchestrator.workflow import operations

APPROVE = Action(
    operations.APPROVE,
    title=_("Approve"),
    done=_("Approved"),
    effect=_("They go back to NEW and are checked again. If the cause is not fixed, they are held again."),
    icon="check",
)
RETRY = Action(
    operations.RETRY,
    title=_("Retry"),
    done=_("Scheduled for retry:"),
    effect=_("They go back to NEW with a delay that grows each time. Permanent errors are not retried."),
    icon="replay",
)
CANCEL = Action(
    operations.CANCEL,
    title=_("Cancel"),
    done=_("Cancelled"),
    effect=_("They end as FAILED with E_CANCELLED. Sheets stay in the import folder."),
    icon="block",
    is_dangerous=True,
    back_label=_("Back"),
)
