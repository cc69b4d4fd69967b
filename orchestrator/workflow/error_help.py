"""What to do about a job that is held or failed, in plain words for each code."""

from django.utils.translation import gettext_lazy as _

from orchestrator.errors import Code
from orchestrator.models import Job
from orchestrator.states import FAILING, JobState

# For people at the floor: what is wrong, what to put right, and then which button.
TO_FIX = {
    Code.CRM_NO_MATCH: _(
        "Nobody with this phone is among the customers. Add the customer (Customers → Add) with the phone of "
        "the order, then approve."
    ),
    Code.TEMPLATE_INVALID: _(
        "The Excel template is missing, or its sheet or its tags are not the agreed ones. Put the right file "
        "back (Preflight shows where), then approve."
    ),
    Code.PLATE_SIZE_MISSING: _(
        "The order names no plate size and the rules have no default. Add defaultPlateSize to the rules, then approve."
    ),
    Code.BACKING_THICKNESS_UNKNOWN: _(
        "A backing part has a thickness that the rules do not list. Add it to backingThicknesses, and its "
        "trim to trimByThickness; or cancel, and have the order corrected. Then approve."
    ),
    Code.TRIM_RULE_MISSING: _(
        "The rules have no trim for a thickness of this order. Add it to trimByThickness, then approve; the "
        "rules are read anew, nothing has to be restarted."
    ),
    Code.OPERATOR_TRIGGER_REQUIRED: _(
        "The sheets below are in the import folder. Start OptiPlanning with them, then approve: the job goes "
        "on as soon as the solution is in the export folder."
    ),
    Code.XML_INVALID: _(
        "OptiPlanning wrote a file that is no solution. Look at it in the export folder. It cannot be "
        "retried: have the order sent again with the next revision."
    ),
    Code.OPTI_XML_TIMEOUT: _(
        "No solution came in time. Look whether OptiPlanning runs and exports to the right folder, then "
        "retry; in mode C you will be asked to start it again."
    ),
    Code.OPTI_RUNNER_FAILED: _("OptiPlanning ended with an error. Look at its own messages, then retry."),
    Code.OPTI_MODE_A_RUNNER_MISSING: _(
        "The command of mode A is not configured, or not on this machine (KILIT_OPTI_COMMAND). Put it right, "
        "then retry."
    ),
    Code.OPTI_MODE_B_MACRO_MISSING: _(
        "Excel, or its RunOptiPlanning macro, is not on the runner's machine. Put it right, then retry; or "
        "have the order sent in another mode."
    ),
    Code.OSI_ACK_TIMEOUT: _(
        "The saw did not take the file in time, so it was taken back. Look at the saw, then retry: the same "
        "solution is delivered again, OptiPlanning need not run."
    ),
    Code.OSI_ACK_FAILED: _(
        "The saw put the file into failed/. Look at its own messages, then retry: the same solution is delivered again."
    ),
    Code.EDGE_MAPPING_UNKNOWN: _(
        "An edge of this order is not in the rules. Add it to edgeMapping, then retry; or have the order corrected."
    ),
    Code.INVALID_GRAIN: _("A grain of this order is not in the rules. Add it to grainMapping, then retry."),
    Code.CANCELLED: _("Somebody cancelled it. Retry brings it back."),
    Code.UNKNOWN: _("Something nobody foresaw. The message and the log tell more; retry when the cause is gone."),
}
# A failure that a second try would only meet again.
SEND_AGAIN = {
    Code.CRM_NO_MATCH: _(
        "Nobody with this phone is among the customers. Have the order sent again with the next revision."
    ),
    Code.TEMPLATE_INVALID: _(
        "The Excel template is missing, or its sheet or its tags are not the agreed ones. Have the order sent again "
        "with the next revision."
    ),
    Code.PLATE_SIZE_MISSING: _(
        "The order names no plate size and the rules have no default. Have the order sent again with the next revision."
    ),
}


def advice(job: Job) -> list[str]:
    """Say what a person should do about a job that is held or failed; of others there is nothing to say."""
    if job.status not in FAILING:
        return []
    if job.status == JobState.FAILED and job.error_code in SEND_AGAIN:
        return [str(SEND_AGAIN[Code(job.error_code)])]
    told = TO_FIX.get(Code(job.error_code))
    return [str(told)] if told else []
