"""The named errors of a cutting job, and what follows from each."""

from django.db import models
from django.utils.translation import gettext_noop as _


class Code(models.TextChoices):
    """Error codes of jobs, events and API errors. The console translates the labels."""

    CRM_NO_MATCH = "E_CRM_NO_MATCH", _("Customer unknown")
    # The Excel template is missing, unreadable or has the wrong sheet or tags.
    TEMPLATE_INVALID = "E_TEMPLATE_INVALID", _("Template invalid")
    # Neither the order nor the rules give a plate size.
    PLATE_SIZE_MISSING = "E_PLATE_SIZE_MISSING", _("Plate size missing")
    BACKING_THICKNESS_UNKNOWN = "E_BACKING_THICKNESS_UNKNOWN", _("Backing thickness unknown")
    TRIM_RULE_MISSING = "E_TRIM_RULE_MISSING", _("Trim rule missing")
    # Mode C: an operator has to start OptiPlanning, then approve.
    OPERATOR_TRIGGER_REQUIRED = "E_OPERATOR_TRIGGER_REQUIRED", _("Operator must start OptiPlanning")
    XML_INVALID = "E_XML_INVALID", _("Solution XML invalid")
    OPTI_XML_TIMEOUT = "E_OPTI_XML_TIMEOUT", _("No solution XML in time")
    OPTI_RUNNER_FAILED = "E_OPTI_RUNNER_FAILED", _("OptiPlanning failed")
    # Mode A: the command is not configured or not on this machine.
    OPTI_MODE_A_RUNNER_MISSING = "E_OPTI_MODE_A_RUNNER_MISSING", _("OptiPlanning command missing")
    # Mode B: Excel or the macro is not on this machine.
    OPTI_MODE_B_MACRO_MISSING = "E_OPTI_MODE_B_MACRO_MISSING", _("OptiPlanning macro missing")
    # Mode D: the runner's Python has no optimiser.
    OPTIMISER_MISSING = "E_OPTIMISER_MISSING", _("Optimiser missing")
    OPTIMISER_FAILED = "E_OPTIMISER_FAILED", _("The optimiser failed")
    # The rules list several saws: none takes these plates, or not the one that was named.
    NO_SAW = "E_NO_SAW", _("No saw for it")
    OSI_ACK_TIMEOUT = "E_OSI_ACK_TIMEOUT", _("No answer from the saw in time")
    # The saw moved the file to failed/.
    OSI_ACK_FAILED = "E_OSI_ACK_FAILED", _("The saw rejected the file")
    # A file left the inbox, or cannot be reached, and the saw has not answered: it may have been cut.
    HANDOVER_UNKNOWN = "E_HANDOVER_UNKNOWN", _("Ask at the saw whether it was cut")
    EDGE_MAPPING_UNKNOWN = "E_EDGE_MAPPING_UNKNOWN", _("Edge unknown")
    INVALID_GRAIN = "E_INVALID_GRAIN", _("Grain unknown")
    # The job has been retried as often as the rules allow.
    RETRY_LIMIT_REACHED = "E_RETRY_LIMIT_REACHED", _("Retry limit reached")
    JOB_NOT_IN_HOLD = "E_JOB_NOT_IN_HOLD", _("Job is not on hold")
    JOB_NOT_FOUND = "E_JOB_NOT_FOUND", _("Job not found")
    # The order has missing, unknown or invalid fields.
    VALIDATION = "E_VALIDATION", _("Invalid order")
    CANCELLED = "E_CANCELLED", _("Cancelled")
    # Anything else: an unexpected exception, a folder that cannot be used.
    UNKNOWN = "E_UNKNOWN", _("Unexpected error")


# An operator has to fix something; the job waits on HOLD until it is approved.
HOLD_CODES = frozenset(
    {
        Code.CRM_NO_MATCH,
        Code.TEMPLATE_INVALID,
        Code.PLATE_SIZE_MISSING,
        Code.BACKING_THICKNESS_UNKNOWN,
        Code.TRIM_RULE_MISSING,
        Code.OPERATOR_TRIGGER_REQUIRED,
        Code.OPTIMISER_MISSING,
        Code.NO_SAW,
    }
)
# A retry would fail the same way, so the API refuses it with this code.
PERMANENT_CODES = frozenset({Code.TEMPLATE_INVALID, Code.CRM_NO_MATCH, Code.PLATE_SIZE_MISSING, Code.XML_INVALID})
# No retry: a retry would fail the same way, or the saw may have cut the job already.
NOT_RETRIED = PERMANENT_CODES | {Code.HANDOVER_UNKNOWN}

# An entry of the rules is missing.
RULE_CODES = (
    Code.PLATE_SIZE_MISSING,
    Code.BACKING_THICKNESS_UNKNOWN,
    Code.TRIM_RULE_MISSING,
    Code.EDGE_MAPPING_UNKNOWN,
    Code.INVALID_GRAIN,
)


class WarningCode(models.TextChoices):
    """What should be looked at before a job is cut, although it is not an error."""

    # OptiPlanning cannot place it; the plate is the order's, or the default of the rules.
    PART_EXCEEDS_PLATE = "W_PART_EXCEEDS_PLATE", _("Part larger than the plate")


class JobError(Exception):
    """A named error that ends or holds a job; any other exception becomes E_UNKNOWN."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class HandoverUnknownError(JobError):
    """A file that the saw may have: it is not in any folder, and we have not taken it back."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(Code.HANDOVER_UNKNOWN, message)
        self.name = name
