"""What to do about a job, in plain words: for each code, and for a job that seems not to move (ORC-2, CON-8, CON-9)."""

from django.conf import settings

from orchestrator.faults import PERMANENT_CODES, Code
from orchestrator.models import Job
from orchestrator.states import Mode, State

# For people at the floor: what is wrong, what to put right, and then which button.
TO_FIX = {
    Code.CRM_NO_MATCH: (
        "Nobody with this phone is among the customers. Add the customer (Customers → Add) with the phone of "
        "the order, then approve."
    ),
    Code.TEMPLATE_INVALID: (
        "The Excel template is missing, or its sheet or its tags are not the agreed ones. Put the right file "
        "back (Preflight shows where), then approve."
    ),
    Code.PLATE_SIZE_MISSING: (
        "The order names no plate size and the rules have no default. Add defaultPlateSize to the rules, then approve."
    ),
    Code.BACKING_THICKNESS_UNKNOWN: (
        "A backing part has a thickness that the rules do not list. Add it to backingThicknesses, and its "
        "trim to trimByThickness; or cancel, and have the order corrected. Then approve."
    ),
    Code.TRIM_RULE_MISSING: (
        "The rules have no trim for a thickness of this order. Add it to trimByThickness, then approve; the "
        "rules are read anew, nothing has to be restarted."
    ),
    Code.OPERATOR_TRIGGER_REQUIRED: (
        "The sheets below are in the import folder. Start OptiPlanning with them, then approve: the job goes "
        "on as soon as the solution is in the export folder."
    ),
    Code.XML_INVALID: (
        "OptiPlanning wrote a file that is no solution. Look at it in the export folder. It cannot be "
        "retried: have the order sent again with the next revision."
    ),
    Code.OPTI_XML_TIMEOUT: (
        "No solution came in time. Look whether OptiPlanning runs and exports to the right folder, then "
        "retry; in mode C you will be asked to start it again."
    ),
    Code.OPTI_RUNNER_FAILED: ("OptiPlanning ended with an error. Look at its own messages, then retry."),
    Code.OPTI_MODE_A_RUNNER_MISSING: (
        "The command of mode A is not configured, or not on this machine (KILIT_OPTI_COMMAND). Put it right, "
        "then retry."
    ),
    Code.OPTI_MODE_B_MACRO_MISSING: (
        "Excel, or its RunOptiPlanning macro, is not on the runner's machine. Put it right, then retry; or "
        "have the order sent in another mode."
    ),
    Code.OSI_ACK_TIMEOUT: (
        "The saw did not take the file in time, so it was taken back. Look at the saw, then retry: the same "
        "solution is delivered again, OptiPlanning need not run."
    ),
    Code.OSI_ACK_FAILED: (
        "The saw put the file into failed/. Look at its own messages, then retry: the same solution is delivered again."
    ),
    Code.EDGE_MAPPING_UNKNOWN: (
        "An edge of this order is not in the rules. Add it to edgeMapping, then retry; or have the order corrected."
    ),
    Code.INVALID_GRAIN: ("A grain of this order is not in the rules. Add it to grainMapping, then retry."),
    Code.CANCELLED: ("Somebody cancelled it. Retry brings it back."),
    Code.UNKNOWN: ("Something nobody foresaw. The message and the log tell more; retry when the cause is gone."),
}


def advice(job: Job) -> list[str]:
    """Say what a person should do now, or why there is nothing to do."""
    if job.status in (State.HOLD, State.FAILED):
        told = [TO_FIX.get(Code(job.error_code), "")]
        if job.status == State.FAILED and job.error_code in PERMANENT_CODES and job.error_code != Code.XML_INVALID:
            told = [f"{TO_FIX[Code(job.error_code)].split('.')[0]}. Have the order sent again with the next revision."]
        return [sentence for sentence in told if sentence]
    return [_why_it_waits(job)] if job.status != State.DONE else []


def _why_it_waits(job: Job) -> str:
    if job.claim_token:
        return "A runner is working on it."
    awaited = {
        State.OPTI_RUNNING: f"OptiPlanning was started; its solution is awaited in {settings.OPTI_EXPORT_FOLDER}.",
        State.XML_READY: f"The saw has not answered yet ({settings.SAW_FOLDER}).",
    }
    if job.status == State.NEW and job.retry_count:
        return f"Retry {job.retry_count} begins at the time shown as next run."
    if job.status == State.OPTI_IMPORTED:
        other = Job.objects.filter(status=State.OPTI_RUNNING).only("pk", "order_id").first()
        return f"OptiPlanning is busy with order {other.order_id}." if other else _waits_for_runner(job)
    return awaited.get(State(job.status)) or _waits_for_runner(job)


def _waits_for_runner(job: Job) -> str:
    if job.opti_mode == Mode.C and settings.FLOOR_IS_HERE:
        return "It waits for its turn."
    return "It waits for a runner (manage.py orchestrator_tick --watch)."
