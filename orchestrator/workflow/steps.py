"""The steps of a job: each moves it by one state, or says how long to wait; each may be repeated."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, cast

from django.db import transaction
from django.db.models.functions import Now

from kilit.lock.audit import for_reason
from kilit.lock.models import Event
from orchestrator.errors import HOLD_CODES, Code, JobError
from orchestrator.files.exchange import folder_errors
from orchestrator.files.folders import Folders
from orchestrator.models import Customer, Job
from orchestrator.models.queryset import NO_ERROR, UNSOLVED
from orchestrator.optiplanning import adapter
from orchestrator.optiplanning.collecting import file_clock
from orchestrator.orders.fields import plain
from orchestrator.orders.order import order_from
from orchestrator.planning.excel import Sheet, sheets_of, write_files
from orchestrator.planning.excel.template import check_template
from orchestrator.planning.plan import Plan
from orchestrator.planning.rules import current_rules
from orchestrator.planning.transform import transform
from orchestrator.saw.delivery import acknowledged, withdraw
from orchestrator.saw.saw_handover import heard, is_cut_in_part, lay_into_inbox, named, settle_earlier_attempts
from orchestrator.states import JobState
from orchestrator.workflow.optimizing import KeepAlive, digest, optimise
from orchestrator.workflow.step_context import advance, age, folders_here, poll

Step = Callable[[Job, KeepAlive], timedelta | None]

# The job that waits longest is woken as soon as the slot is free; this is for the others.
ASK_FOR_SLOT_AFTER = timedelta(seconds=30)


def prepare(job: Job, _: KeepAlive) -> timedelta | None:
    """Find the customer and ask all gates; nothing is written outside the database yet."""
    customer = Customer.objects.filter(phone=job.customer_phone).first()
    if customer is None:
        raise JobError(Code.CRM_NO_MATCH, f"No customer has the phone {job.customer_phone}.")
    if job.customer_id != customer.pk:
        job.note(customer=customer)  # known even when a later gate holds the job
    folders = folders_here()
    plan = planned(job, folders)
    batches, reset = len(plan.batches), plan.backing_edge_reset_count
    is_new_reset = reset and job.backing_edge_reset_count != reset
    with transaction.atomic():
        advance(
            job,
            "prepare",
            f"{several(job.part_count, 'part')} in {several(batches, 'batch', 'batches')}.",
            plate_size={"width_mm": plain(plan.plate.width_mm), "height_mm": plain(plan.plate.height_mm)},
            batch_count=batches,
            backing_edge_reset_count=reset,
            attempt_started_at=job.attempt_started_at or file_clock(folders.export),
            **NO_ERROR,
        )
        if is_new_reset:
            Event.objects.record(
                job,
                "BACKING_EDGE_RESET",
                message=f"Edges of {several(reset, 'backing part')} were emptied.",
                details={"backing_edge_reset_count": reset, "parts": list(plan.reset_parts)},
            )
    return None


def import_files(job: Job, keep_alive: KeepAlive) -> timedelta | None:
    """Lay the sheets into OptiPlanning's import folder; what OptiPlanning took in before is left alone."""
    folders = folders_here()
    try:
        lay_sheets(job, folders, planned(job, folders), keep_alive)
    except JobError as fault:
        if fault.code in HOLD_CODES:
            # All was well when the job was prepared: somebody has the template open, or changed the rules. A retry asks
            # every gate again, and holds the job; from here it could only fail, and with some of these codes for good.
            raise JobError(Code.UNKNOWN, fault.message) from fault
        raise
    return None


def lay_sheets(job: Job, folders: Folders, plan: Plan, keep_alive: KeepAlive) -> None:
    if job.files and (job.manual_trigger_approved or job.xml_sha256):
        # OptiPlanning may have emptied the folder since: laid again, the sheets would be optimised again.
        is_same = job.files == listed(sheets_of(job.pk, plan, folders, keep_alive=keep_alive))
        if not is_same:
            settle_earlier_attempts(job, folders)  # before its solution is forgotten
        if is_same or is_cut_in_part(job):
            advance(job, "import_files", "OptiPlanning has these sheets already.", imported_at=Now())
            return
    written = listed(write_files(job.pk, plan, folders, keep_alive=keep_alive))
    changes: dict[str, Any] = {"files": written, "imported_at": Now()}
    if job.files and job.files != written:
        # The rules changed since: what the operator started, or OptiPlanning solved, was something else.
        changes |= {**UNSOLVED, "attempt_started_at": file_clock(folders.export)}
    advance(job, "import_files", f"Sheets: {', '.join(sheet['name'] for sheet in written)}.", **changes)


def listed(sheets: Iterable[Sheet]) -> list[dict[str, str]]:
    """Return sheets as the job remembers them."""
    return [{"name": sheet.name, "sha256": sheet.sha256} for sheet in sheets]


def start(job: Job, _: KeepAlive) -> timedelta | None:
    """Take the one slot of OptiPlanning before anything is started, or wait for it."""
    if adapter(job.opti_mode).needs_operator and not job.manual_trigger_approved:
        raise JobError(
            Code.OPERATOR_TRIGGER_REQUIRED,
            "The sheets are in the import folder. Start OptiPlanning, then approve.",
        )
    with for_reason("OptiPlanning is free."):
        if not Job.objects.take_slot(job):
            return ASK_FOR_SLOT_AFTER
    job.refresh_from_db()
    return None


def validate(job: Job, _: KeepAlive) -> timedelta | None:
    """Look at what was stored once more, before it goes to a machine."""
    # Sorted here, as the collector does: a database may sort by another alphabet.
    contents = [bytes(file.content) for file in sorted(job.solution_files.all(), key=lambda file: file.name)]
    if not contents or digest(contents) != job.xml_sha256:
        raise JobError(Code.XML_INVALID, "The stored solution is not the one that was collected.")
    advance(job, "validate", spoken(job.solution or {}), xml_ready_at=Now())
    return None


def hand_over(job: Job, _: KeepAlive) -> timedelta | None:
    """Hand the solution to the saw once, and wait for its answer."""
    folders = folders_here()
    patience = current_rules().osi_ack_after
    if job.handed_at is None:
        try:
            with folder_errors(folders.saw):
                lay_out(job, folders)
        except JobError as fault:
            if not isinstance(fault.__cause__, OSError):
                raise
            # A share that is away for a minute fails no job.
            if age(job, "xml_ready_at") > patience:
                raise JobError(Code.OSI_ACK_TIMEOUT, f"For {minutes(patience)}: {fault.message}") from fault
            return poll()
    waiting = named(job, attempt=job.retry_count + 1)
    answers = heard(waiting, folders, acknowledged)
    if False in answers or (None in answers and age(job, "handed_at") > patience):
        # Taken back first, then judged: what the saw takes in between counts as taken.
        answers = heard(waiting, folders, withdraw)
        refused = [name for name, answer in zip(waiting.values(), answers, strict=True) if answer is False]
        if refused:
            raise JobError(Code.OSI_ACK_FAILED, f"The saw put {', '.join(refused)} into failed/.")
        if None in answers:
            told = f"The saw did not answer within {minutes(patience)}; the file was taken back."
            raise JobError(Code.OSI_ACK_TIMEOUT, told)
    if None in answers:
        return poll()
    taken = job.solution_files.order_by("name").values_list("acknowledged_as", flat=True)
    advance(job, "deliver", f"The saw took {', '.join(taken)}.")
    return None


def lay_out(job: Job, folders: Folders) -> None:
    """Lay the files into the inbox, and note that they are there."""
    settle_earlier_attempts(job, folders)
    waiting = named(job, attempt=job.retry_count + 1)
    # Noted before the saw can see them, and never forgotten: by these names an attempt is settled later.
    job.note(delivery_names=list(dict.fromkeys([*job.delivery_names, *waiting.values()])))
    lay_into_inbox(waiting, folders, prove=job.renew)
    job.note(handed_at=Now())


def minutes(span: timedelta) -> str:
    return f"{span.total_seconds() / 60:g} min"


def finish(job: Job, _: KeepAlive) -> timedelta | None:
    job.finish()
    return None


STEPS: dict[str, Step] = {
    JobState.NEW: prepare,
    JobState.PREPARED: import_files,
    JobState.OPTI_IMPORTED: start,
    JobState.OPTI_RUNNING: optimise,
    JobState.OPTI_DONE: validate,
    JobState.XML_READY: hand_over,
    JobState.DELIVERED: finish,
}


def several(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def spoken(figures: dict[str, Any]) -> str:
    """Return what operators ask first about a solution."""
    words = {
        "boards_m2": ("m² of boards", "m² of boards"),
        "drops_m2": ("m² of drops", "m² of drops"),
        "patterns": ("pattern", "patterns"),
        "cuts": ("cut", "cuts"),
        "time_s": ("s", "s"),
    }
    told = [
        f"{figures[name]} {one if figures[name] == 1 else many}"
        for name, (one, many) in words.items()
        if figures.get(name) is not None
    ]
    return f"The solution: {', '.join(told)}." if told else "The solution tells no figures."


def planned(job: Job, folders: Folders) -> Plan:
    """Return the rows to cut, by the rules of this moment.

    They are known from the step before, if the rules are still those: orders never change.
    """
    rules = current_rules()
    made_by, plan = job.planned or (None, None)
    if made_by is not rules or plan is None:
        plan = transform(order_from(job.payload), rules, template=folders.template)
        job.planned = rules, plan
    else:
        check_template(folders.template)
    return cast("Plan", plan)
