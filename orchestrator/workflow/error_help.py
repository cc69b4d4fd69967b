"""What an operator should do about a held or failed job, for each error code."""

from django.utils.translation import gettext_lazy as _

from orchestrator.errors import NOT_RETRIED, Code, JobError
from orchestrator.models import Job
from orchestrator.planning.rules import current_rules
from orchestrator.states import FAILING, JobState

HELP = {
    Code.CRM_NO_MATCH: _(
        "No customer has this phone number. Add the customer here, and the job continues. If the number is wrong, "
        "have the order sent again. If the customer was added elsewhere, approve."
    ),
    Code.TEMPLATE_INVALID: _(
        "The Excel template is missing, or its sheet or tags are wrong. Restore the right file (Preflight shows "
        "where), then approve."
    ),
    Code.PLATE_SIZE_MISSING: _(
        "The order has no plate size, and the rules have no default. Add defaultPlateSize to the rules, then approve."
    ),
    Code.BACKING_THICKNESS_UNKNOWN: _(
        "The rules do not list the thickness of a backing part. Add it to backingThicknesses and its trim to "
        "trimByThickness, then approve. Or cancel, and have the order corrected."
    ),
    Code.TRIM_RULE_MISSING: _(
        "The rules have no trim for a thickness of this order. Add it to trimByThickness, then approve. The rules "
        "are read again automatically; nothing has to be restarted."
    ),
    Code.OPERATOR_TRIGGER_REQUIRED: _(
        "The sheets below are in the import folder. Start OptiPlanning with them, then approve. The job continues as "
        "soon as the solution is in the export folder."
    ),
    Code.XML_INVALID: _(
        "OptiPlanning wrote a file that is not a solution. Look at it in the export folder. The job cannot be "
        "retried: have the order sent again with the next revision."
    ),
    Code.OPTI_XML_TIMEOUT: _(
        "No solution arrived in time. Check that OptiPlanning runs and exports to the right folder, then retry. In "
        "mode C you will be asked to start it again."
    ),
    Code.OPTI_RUNNER_FAILED: _("OptiPlanning ended with an error. Check its own messages, then retry."),
    Code.OPTI_MODE_A_RUNNER_MISSING: _(
        "The command for mode A is not configured or not on this machine (KILIT_OPTI_COMMAND). Fix it, then retry."
    ),
    Code.OPTI_MODE_B_MACRO_MISSING: _(
        "Excel or its RunOptiPlanning macro is not on the runner's machine. Fix it, then retry. Or have the order "
        "sent in another mode."
    ),
    Code.OSI_ACK_TIMEOUT: _(
        "The saw did not take the file in time, so it was taken back. Check the saw, then retry: the same solution is "
        "delivered again, without OptiPlanning."
    ),
    Code.OSI_ACK_FAILED: _(
        "The saw moved the file to failed/. Check its own messages, then retry: the same solution is delivered again."
    ),
    Code.HANDOVER_UNKNOWN: _(
        "The saw's answer is missing, and the file may have been cut. Ask at the saw, then choose “It was cut” or "
        "“Hand it over again”. A retry could cut it twice."
    ),
    Code.EDGE_MAPPING_UNKNOWN: _(
        "The rules do not list an edge of this order. Add it to edgeMapping, then retry. Or have the order corrected."
    ),
    Code.INVALID_GRAIN: _("The rules do not list a grain of this order. Add it to grainMapping, then retry."),
    Code.CANCELLED: _("It was cancelled. Retry to continue."),
    Code.UNKNOWN: _("An unexpected error. See the message and the log; retry when the cause is fixed."),
}
# FAILED with one of these: a retry would fail again.
SEND_AGAIN = {
    Code.CRM_NO_MATCH: _("No customer has this phone number. Have the order sent again with the next revision."),
    Code.TEMPLATE_INVALID: _(
        "The Excel template is missing, or its sheet or tags are wrong. Have the order sent again with the next "
        "revision."
    ),
    Code.PLATE_SIZE_MISSING: _(
        "The order has no plate size, and the rules have no default. Have the order sent again with the next revision."
    ),
}

RETRIED_OUT = _(
    "It has been retried as often as the rules allow. Fix the cause, then have the order sent again with the next "
    "revision."
)


def help_for(job: Job) -> list[str]:
    texts = {**HELP, **SEND_AGAIN} if job.status == JobState.FAILED else HELP
    text = texts.get(Code(job.error_code)) if job.status in FAILING else None
    if is_retried_out(job):
        text = RETRIED_OUT
    sentences = [str(text)] if text else []
    if job.status == JobState.HOLD and job.error_code == Code.OPERATOR_TRIGGER_REQUIRED and job.plate_size:
        sentences.append(_("Choose the plate %(width_mm)s × %(height_mm)s mm.") % job.plate_size)
    return sentences


def is_retried_out(job: Job) -> bool:
    """Return whether a failed job could be retried if it had not been retried too often."""
    if job.status != JobState.FAILED or job.error_code in NOT_RETRIED:
        return False
    try:
        return job.retry_count >= current_rules().retry_count_max
    except JobError:  # there are no rules to judge by
        return False
