"""What a cutting job's page calls its states and its events."""

from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.console.dashboard.queue_pauses import PAUSE_SENTENCES
from kilit.console.formatting import joined, with_local_times
from kilit.console.jobs.job_page import JobDescription
from kilit.console.jobs.priorities import PRIORITY_SENTENCES
from kilit.console.jobs.timeline import Story
from orchestrator.admin.columns import state_notes
from orchestrator.admin.first_actions import choose_primary
from orchestrator.errors import Code
from orchestrator.models import Job
from orchestrator.saw.leftovers import LEFTOVER_REMOVED
from orchestrator.states import WORKING, JobState

LABELS = {
    JobState.NEW: _("New"),
    JobState.PREPARED: _("Prepared"),
    JobState.OPTI_IMPORTED: _("Imported into OptiPlanning"),
    JobState.OPTI_RUNNING: _("Optimization running"),
    JobState.OPTI_DONE: _("Optimization finished"),
    JobState.XML_READY: _("XML ready"),
    JobState.DELIVERED: _("Delivered to the saw"),
    JobState.DONE: _("Done"),
    JobState.HOLD: _("Needs approval"),
    JobState.FAILED: _("Failed"),
}
STORY = Story(
    {
        "JOB_CREATED": _("Ordered by %(who)s"),
        "saved": _("New rules saved by %(who)s"),
        "prepare": _("Prepared: customer, template and rules are fine"),
        "import_files": _("Sheets written to OptiPlanning's import folder"),
        "start": _("OptiPlanning started"),
        "collect": _("Solution of OptiPlanning stored"),
        "validate": _("Solution checked"),
        "deliver": _("Taken by the saw"),
        "finish": _("Finished"),
        **PRIORITY_SENTENCES,
        **PAUSE_SENTENCES,
        "hold": _("Held until an operator approves"),
        "fail": _("Failed"),
        "approve": _("Approved by %(who)s"),
        "retry": _("Retried by %(who)s"),
        "undo_retry": _("Retry taken back by %(who)s"),
        "cancel": _("Cancelled by %(who)s"),
        "reuse_solution": _("The stored solution is used; OptiPlanning is not needed"),
        "confirm_cut": _("Confirmed by %(who)s: it was cut"),
        "hand_over": _("Handed over to the saw again by %(who)s"),
        "HOLD_APPROVED": _("Approval recorded"),
        "JOB_RETRY_SCHEDULED": _("Retry scheduled"),
        "JOB_DEDUP": _("The same order was sent again by %(who)s"),
        "BACKING_EDGE_RESET": _("Edges of backing parts removed"),
        LEFTOVER_REMOVED: _("A file that a stopped runner had left in a folder was removed"),
    },
    links={"JOB_RETRY_SCHEDULED": lambda event: with_local_times(event.details.get("next_run_at", ""))},
)


def belongs_to(job: Job) -> SafeString:
    revision = gettext("revision %(number)s") % {"number": job.revision} if job.revision else ""
    return joined(job.customer_name or gettext("unknown customer"), revision)


def explain_error(job: Job) -> str:
    return gettext(Code(job.error_code).label)


CUTTING_JOB = JobDescription(
    belongs_to=belongs_to,
    state_labels=LABELS,
    state_notes=state_notes,
    way=(*WORKING, JobState.DONE),
    story=STORY,
    explain_error=explain_error,
    choose_primary=choose_primary,
    copied_fields={"order_id": "order_id", "whole_customer": "customer_phone"},
)
