"""What is known of the error codes of cutting jobs: one entry for each, and one for each reason of HOLD.

The steps besides the operations: "customers" (adds them), "rules" (adds what is missing), "template" (the preflight),
"started" (an approval in other words), "again" (approves or retries, by the state), "send_again" (the next revision).
"""

from dataclasses import replace
from functools import partial

from django.utils.translation import gettext_noop as _

from kilit.batches.error_entries import ErrorEntry, WhoseTurn
from orchestrator.errors import Code

SEND_AGAIN = _("Send the order again with the next revision.")
AGAIN = ("retry", "send_again")
repeatable = partial(ErrorEntry, row=AGAIN, group=("retry",))
by_rules = partial(
    ErrorEntry,
    advice=_("Add it to the rules. The jobs that wait for it continue then."),
    turn=WhoseTurn.ADMIN,
    row=("rules", "approve", *AGAIN),
    group=("rules", "again"),
)


def words(code: Code) -> str:
    return str(code.label)


HELD: dict[str, ErrorEntry] = {
    Code.CRM_NO_MATCH: ErrorEntry(
        words(Code.CRM_NO_MATCH),
        _("No customer has this phone number."),
        _("Add the customer, and the job continues. If the number is wrong, cancel and have the order sent again."),
        row=("customers", "approve"),
        group=("customers", "approve"),
    ),
    Code.TEMPLATE_INVALID: ErrorEntry(
        words(Code.TEMPLATE_INVALID),
        _("The Excel template is missing, or its sheet or tags are wrong."),
        _("Restore the right file (Preflight shows where), then approve."),
        WhoseTurn.ADMIN,
        row=("template", "approve"),
        group=("template", "approve"),
    ),
    Code.PLATE_SIZE_MISSING: by_rules(
        words(Code.PLATE_SIZE_MISSING), _("The order has no plate size, and the rules have no default.")
    ),
    Code.BACKING_THICKNESS_UNKNOWN: by_rules(
        words(Code.BACKING_THICKNESS_UNKNOWN), _("The rules do not list the thickness of a backing part.")
    ),
    Code.TRIM_RULE_MISSING: by_rules(
        words(Code.TRIM_RULE_MISSING), _("The rules have no trim for a thickness of this order.")
    ),
    # Each job is started for itself, so there is nothing for a group.
    Code.OPERATOR_TRIGGER_REQUIRED: ErrorEntry(
        words(Code.OPERATOR_TRIGGER_REQUIRED),
        _("The sheets are in the import folder."),
        _("Start OptiPlanning with them. The job continues as soon as the solution is in the export folder."),
        row=("started",),
    ),
    Code.OPTIMISER_MISSING: ErrorEntry(
        words(Code.OPTIMISER_MISSING),
        _("The Python of the runner has no optimiser."),
        _("Install it as the message says, then approve. Or cancel and have the order sent again in another mode."),
        WhoseTurn.ADMIN,
        row=("approve",),
        group=("approve",),
    ),
    Code.NO_SAW: ErrorEntry(
        words(Code.NO_SAW),
        _("No saw takes its plates, or not the saw that it names."),
        _("Choose another saw, or change the saws in the rules and approve."),
        row=("saw", "approve"),
        group=("approve",),
    ),
}
RETRIED_OUT = _(
    "It has been retried as often as the rules allow. Fix the cause, then send the order again with the next revision."
)
hopeless = partial(ErrorEntry, row=("send_again",), is_final=True)
FAILED: dict[str, ErrorEntry] = {
    # Codes of HOLD, found by a step from which a job cannot be held.
    **{
        code: hopeless(HELD[code].words, HELD[code].cause, SEND_AGAIN)
        for code in (Code.CRM_NO_MATCH, Code.TEMPLATE_INVALID, Code.PLATE_SIZE_MISSING)
    },
    **{code: HELD[code] for code in (Code.BACKING_THICKNESS_UNKNOWN, Code.TRIM_RULE_MISSING)},
    Code.OPERATOR_TRIGGER_REQUIRED: replace(HELD[Code.OPERATOR_TRIGGER_REQUIRED], row=AGAIN, group=("retry",)),
    Code.EDGE_MAPPING_UNKNOWN: by_rules(
        words(Code.EDGE_MAPPING_UNKNOWN), _("The rules do not list an edge of this order.")
    ),
    Code.INVALID_GRAIN: by_rules(words(Code.INVALID_GRAIN), _("The rules do not list a grain of this order.")),
    Code.XML_INVALID: hopeless(
        words(Code.XML_INVALID),
        _("OptiPlanning wrote a file that is not a solution."),
        _("Look at it in the export folder, then send the order again with the next revision."),
    ),
    Code.OPTI_XML_TIMEOUT: repeatable(
        words(Code.OPTI_XML_TIMEOUT),
        _("No solution arrived in time."),
        _("Check that OptiPlanning runs and exports to the right folder, then retry."),
    ),
    Code.OPTI_RUNNER_FAILED: repeatable(
        words(Code.OPTI_RUNNER_FAILED),
        _("OptiPlanning ended with an error."),
        _("Check its own messages, then retry."),
    ),
    Code.OPTI_MODE_A_RUNNER_MISSING: repeatable(
        words(Code.OPTI_MODE_A_RUNNER_MISSING),
        _("The command for mode A is not configured or not on this machine (KILIT_OPTI_COMMAND)."),
        _("Fix it, then retry."),
        WhoseTurn.ADMIN,
    ),
    Code.OPTI_MODE_B_MACRO_MISSING: repeatable(
        words(Code.OPTI_MODE_B_MACRO_MISSING),
        _("Excel or its RunOptiPlanning macro is not on the runner's machine."),
        _("Fix it, then retry. Or have the order sent in another mode."),
        WhoseTurn.ADMIN,
    ),
    Code.OPTIMISER_MISSING: replace(HELD[Code.OPTIMISER_MISSING], row=AGAIN, group=("retry",)),
    Code.NO_SAW: replace(
        HELD[Code.NO_SAW],
        advice=_("Choose another saw, or change the saws in the rules, and retry."),
        row=("saw", *AGAIN),
        group=("retry",),
    ),
    Code.OPTIMISER_FAILED: repeatable(
        words(Code.OPTIMISER_FAILED),
        _("The built-in optimiser ended without a plan."),
        _("See the message. Retry, or have the order sent again in another mode."),
    ),
    Code.OSI_ACK_TIMEOUT: repeatable(
        words(Code.OSI_ACK_TIMEOUT),
        _("The saw did not take the file in time, so it was taken back."),
        _("Check the saw, then retry: the same solution is delivered again, without OptiPlanning."),
    ),
    Code.OSI_ACK_FAILED: repeatable(
        words(Code.OSI_ACK_FAILED),
        _("The saw moved the file to failed/."),
        _("Check its own messages, then retry: the same solution is delivered again."),
    ),
    Code.HANDOVER_UNKNOWN: ErrorEntry(
        words(Code.HANDOVER_UNKNOWN),
        _("The saw's answer is missing, and the file may have been cut."),
        _("Ask at the saw, then choose “It was cut” or “Hand it over again”. A retry could cut it twice."),
        row=("confirm_cut", "hand_over"),
        is_final=True,
        is_question=True,
    ),
    # Of no job: why one is not retried.
    Code.RETRY_LIMIT_REACHED: hopeless(words(Code.RETRY_LIMIT_REACHED), RETRIED_OUT),
    Code.CANCELLED: ErrorEntry(
        words(Code.CANCELLED), _("It was cancelled."), _("Retry to continue."), WhoseTurn.NOBODY, row=AGAIN
    ),
    Code.UNKNOWN: repeatable(
        words(Code.UNKNOWN), _("An unexpected error."), _("See the message and the log; retry when the cause is fixed.")
    ),
}


def retried_out(entry: ErrorEntry) -> ErrorEntry:
    return replace(entry, advice=RETRIED_OUT, row=("send_again",))
