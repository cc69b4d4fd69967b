"""Named failures: what can go wrong with an order, and what follows from it."""

from typing import Any

from django.db import models
from django.utils.translation import gettext_noop as _


class Code(models.TextChoices):
    """Every code that a job, an event or a refusal may carry; the console translates its words."""

    CRM_NO_MATCH = "E_CRM_NO_MATCH", _("Customer unknown")
    TEMPLATE_INVALID = "E_TEMPLATE_INVALID", _("Template invalid")
    PLATE_SIZE_MISSING = "E_PLATE_SIZE_MISSING", _("Plate size missing")
    BACKING_THICKNESS_UNKNOWN = "E_BACKING_THICKNESS_UNKNOWN", _("Backing thickness unknown")
    TRIM_RULE_MISSING = "E_TRIM_RULE_MISSING", _("Trim rule missing")
    OPERATOR_TRIGGER_REQUIRED = "E_OPERATOR_TRIGGER_REQUIRED", _("Operator must start OptiPlanning")
    XML_INVALID = "E_XML_INVALID", _("Solution XML invalid")
    OPTI_XML_TIMEOUT = "E_OPTI_XML_TIMEOUT", _("No solution XML in time")
    OPTI_RUNNER_FAILED = "E_OPTI_RUNNER_FAILED", _("OptiPlanning failed")
    OPTI_MODE_A_RUNNER_MISSING = "E_OPTI_MODE_A_RUNNER_MISSING", _("OptiPlanning command missing")
    OPTI_MODE_B_MACRO_MISSING = "E_OPTI_MODE_B_MACRO_MISSING", _("OptiPlanning macro missing")
    OSI_ACK_TIMEOUT = "E_OSI_ACK_TIMEOUT", _("No answer of the saw in time")
    OSI_ACK_FAILED = "E_OSI_ACK_FAILED", _("The saw refused the file")
    EDGE_MAPPING_UNKNOWN = "E_EDGE_MAPPING_UNKNOWN", _("Edge unknown")
    INVALID_GRAIN = "E_INVALID_GRAIN", _("Grain unknown")
    RETRY_LIMIT_REACHED = "E_RETRY_LIMIT_REACHED", _("Retry limit reached")
    JOB_NOT_IN_HOLD = "E_JOB_NOT_IN_HOLD", _("Job is not on hold")
    JOB_NOT_FOUND = "E_JOB_NOT_FOUND", _("Job not found")
    VALIDATION = "E_VALIDATION", _("Order refused")
    CANCELLED = "E_CANCELLED", _("Cancelled")
    UNKNOWN = "E_UNKNOWN", _("Unforeseen failure")


# A person has to put something right; the job waits on HOLD until it is approved.
HOLD_CODES = frozenset(
    {
        Code.CRM_NO_MATCH,
        Code.TEMPLATE_INVALID,
        Code.PLATE_SIZE_MISSING,
        Code.BACKING_THICKNESS_UNKNOWN,
        Code.TRIM_RULE_MISSING,
        Code.OPERATOR_TRIGGER_REQUIRED,
    }
)
# A second try would end the same; retry is refused with the code itself.
PERMANENT_CODES = frozenset(
    {
        Code.TEMPLATE_INVALID,
        Code.CRM_NO_MATCH,
        Code.PLATE_SIZE_MISSING,
        Code.XML_INVALID,
    }
)


class JobError(Exception):
    """A named failure; an exception of any other kind is E_UNKNOWN."""

    def __init__(self, code: Code, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.details = code, message, details
