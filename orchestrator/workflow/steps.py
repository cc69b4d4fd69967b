"""The steps of a job. Each moves it by one state or returns how long to wait; each may be repeated safely."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import cast

from django.conf import settings
from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from kilit.lock.audit import for_reason
from kilit.lock.models import Event
from orchestrator import sentences
from orchestrator.cutting.stock import has_its_stock, reserve_boards
from orchestrator.errors import Code, JobError
from orchestrator.figures.job_figures import figures_json
from orchestrator.folders import Folders, folder_errors
from orchestrator.models import Customer, Job
from orchestrator.models.job import NO_ERROR, UNSOLVED
from orchestrator.optiplanning.adapters import run_optiplanning
from orchestrator.optiplanning.collecting import Collected, Wanted, collect, file_clock, is_begun, missing
from orchestrator.optiplanning.solution import whole_patterns_of
from orchestrator.orders.order import order_from
from orchestrator.planning.excel.template import check_template
from orchestrator.planning.excel.writing import render_sheets, write_files
from orchestrator.planning.plan import Plan, transform
from orchestrator.planning.rules import current_rules
from orchestrator.saw.saw_handover import (
    collect_answers,
    fill_inbox,
    is_cut_in_part,
    settle_earlier_attempts,
    take_back,
)
from orchestrator.schemas.orders import plain
from orchestrator.states import JobState, Mode
from orchestrator.workflow.planning_step import plan_boards
from orchestrator.workflow.saws import hold_without_saw, require_folder, who_cuts
from orchestrator.workflow.solutions import KeepAlive, digest, store_solution

Step = Callable[[Job, KeepAlive], timedelta | None]
# The job that has waited longest is woken as soon as the slot is free; this is for the others.
ASK_FOR_SLOT_AFTER = timedelta(seconds=30)


def age(job: Job, column: str) -> timedelta:
    """Return the time since a column's timestamp, by the database's clock."""
    since = ExpressionWrapper(Now() - F(column), output_field=DurationField())
    return Job.objects.values_list(since, flat=True).get(pk=job.pk) or timedelta(0)


def folders_here(job: Job) -> Folders:
    Folders.from_settings().prepare()
    return Folders.at(job.saw)


def poll() -> timedelta:
    return timedelta(seconds=settings.FLOOR_POLL)


def format_minutes(span: timedelta) -> str:
    return f"{span.total_seconds() / 60:g} min"


def plan_for(job: Job, folders: Folders) -> Plan:
    """Return the rows to cut by the current rules; reused from the previous step unless the rules changed."""
    rules = current_rules()
    template = folders.template if job.opti_mode != Mode.D else None  # the optimiser needs no sheets
    if not (job.planned and job.planned[0] is rules):
        job.planned = rules, transform(order_from(job.payload), rules, template=template)
    elif template:
        check_template(template)
    return cast("Plan", job.planned[1])


def optimize(job: Job, keep_alive: KeepAlive) -> timedelta | None:
    """Run OptiPlanning unless it has run already, then store its solution when it is complete."""
    solution, keep_looking = first_look(job)
    if keep_looking:
        time_left(job)
        return poll()
    if solution is None and job.opti_ended_at is None:
        files = [folders_here(job).imports / sheet["name"] for sheet in job.files]
        try:
            # Only the remaining time, so that a job whose runners die repeatedly still times out.
            run_optiplanning(
                job.opti_mode, files, plate=job.plate_size or {}, keep_alive=keep_alive, time_limit=time_left(job)
            )
        except JobError as error:
            if error.code == Code.OPTI_XML_TIMEOUT:
                raise timed_out(job) from error  # operators see the whole limit, not the remaining time
            raise
        job.note(opti_ended_at=Now())
        solution = find_solution(job)
    if solution is None:
        time_left(job)
        return poll()
    return None if store(job, solution) else poll()


def first_look(job: Job) -> tuple[Collected | None, bool]:
    """Return the solution, and whether to keep looking instead of starting OptiPlanning.

    Before OptiPlanning was seen to end, a file was left by a runner that died: either a complete solution, which is
    taken once it is stable, or a fragment, which OptiPlanning has to write again.
    """
    if job.opti_mode == Mode.C or job.opti_ended_at:
        return find_solution(job), False
    try:
        solution = find_solution(job)
    except JobError as error:
        if error.code != Code.XML_INVALID:
            raise
        return None, False
    return solution, solution is None and is_begun(wanted(job), folders_here(job))


def find_solution(job: Job) -> Collected | None:
    return collect(wanted(job), folders_here(job))


def wanted(job: Job) -> Wanted:
    newer_than = job.attempt_started_at
    if newer_than is None:  # a check constraint rules this out
        raise JobError(Code.UNKNOWN, sentences.NO_START)
    sheets = [sheet["name"] for sheet in job.files]
    return Wanted(job.pk, newer_than, sheets, each=current_rules().xml_expected == "batch")


def store(job: Job, solution: Collected) -> bool:
    """Store the solution and move on, in one transaction; return False if the files changed since they were read."""
    try:
        contents = {path.name: path.read_bytes() for path in solution.paths}
    except OSError:
        return False  # removed or locked: it is still being written
    if digest(contents.values()) != solution.sha256:
        return False
    columns = {"xml_sha256": solution.sha256, "solution": dict(solution.solution), "planning": None}
    with transaction.atomic():
        store_solution(job, "collect", contents, sentences.COLLECTED % {"files": ", ".join(contents)}, **columns)
        reserve_stock(job)
    return True


def reserve_stock(job: Job) -> None:
    """Reserve the boards of OptiPlanning's solution, in a shop that keeps its boards here."""
    if stock := current_rules().stock:
        patterns = whole_patterns_of(job)
        job.note(planning={"stock": reserve_boards(job, order_from(job.payload), patterns, stock)})


def time_left(job: Job) -> timedelta:
    left = current_rules().timeouts.opti_xml - age(job, "opti_started_at")
    if left <= timedelta(0):
        raise timed_out(job)
    return left


def timed_out(job: Job) -> JobError:
    lacking = missing(wanted(job), folders_here(job))
    values = {"sheets": ", ".join(lacking), "limit": format_minutes(current_rules().timeouts.opti_xml)}
    text = sentences.NO_SOLUTION_FOR if lacking else sentences.NO_SOLUTION
    return JobError(Code.OPTI_XML_TIMEOUT, text % values)


def prepare(job: Job, _: KeepAlive) -> None:
    """Find the customer and apply the rules; nothing is written outside the database yet."""
    customer = Customer.objects.filter(phone=job.customer_phone).first()
    if customer is None:
        raise JobError(Code.CRM_NO_MATCH, sentences.NO_CUSTOMER % {"phone": job.customer_phone})
    if job.customer_id != customer.pk:
        job.note(customer=customer)  # kept even if a later check holds the job
    folders = folders_here(job)
    plan = plan_for(job, folders)
    hold_without_saw(job)
    batches, reset = len(plan.batches), len(plan.reset_parts)
    is_new_reset = reset and job.backing_edge_reset_count != reset
    with transaction.atomic():
        job.advance(
            "prepare",
            sentences.PREPARED % {"parts": job.part_count, "batches": batches},
            plate_size={"width_mm": plain(plan.plate.width_mm), "height_mm": plain(plan.plate.height_mm)},
            batch_count=batches,
            backing_edge_reset_count=reset,
            **plan.warning,  # the rules may have changed since the order came
            attempt_started_at=job.attempt_started_at or file_clock(folders.export),
            **NO_ERROR,
        )
        if is_new_reset:
            Event.objects.record(
                job,
                "BACKING_EDGE_RESET",
                message=sentences.EDGES_REMOVED % {"number": reset},
                details={"backing_edge_reset_count": reset, "parts": list(plan.reset_parts)},
            )


def lay_out(job: Job, keep_alive: KeepAlive) -> timedelta | None:
    """Plan the boards here, or leave that to OptiPlanning."""
    if job.opti_mode == Mode.D:
        return plan_boards(job, keep_alive)
    import_files(job, keep_alive)
    return None


def import_files(job: Job, keep_alive: KeepAlive) -> None:
    """Write the sheets into OptiPlanning's import folder; sheets that OptiPlanning has read before are skipped."""
    folders = folders_here(job)
    plan = plan_for(job, folders)  # may hold the job: the template is open in Excel by now, or the rules have changed
    if job.files and (job.manual_trigger_approved or job.xml_sha256):
        # OptiPlanning may have emptied the folder since: written again, the sheets would be optimised again.
        is_same = job.files == [sheet for sheet, _ in render_sheets(job.pk, plan, folders, keep_alive)]
        if not is_same:
            settle_earlier_attempts(job, folders)  # before its solution is discarded
        if is_same or is_cut_in_part(job):
            job.advance("import_files", sentences.HAS_SHEETS, imported_at=Now())
            return
    written = write_files(job.pk, plan, folders, keep_alive=keep_alive)
    changes: dict[str, object] = {"files": written, "imported_at": Now()}
    if job.files and job.files != written:
        # The rules changed since: what the operator started, or OptiPlanning solved, were other sheets.
        changes |= {**UNSOLVED, "attempt_started_at": file_clock(folders.export)}
    job.advance("import_files", sentences.SHEETS % {"sheets": ", ".join(sheet["name"] for sheet in written)}, **changes)


def start(job: Job, _: KeepAlive) -> timedelta | None:
    """Take OptiPlanning's single slot before anything is started, or wait for it.

    A retry that only has to deliver again has a solution of these sheets, and does not wait for the slot.
    """
    if job.xml_sha256:
        with transaction.atomic():
            job.advance("reuse_solution", sentences.STILL_VALID)
            if not has_its_stock(job):
                reserve_stock(job)
        return None
    if job.opti_mode == Mode.C and not job.manual_trigger_approved:
        raise JobError(Code.OPERATOR_TRIGGER_REQUIRED, sentences.START_IT)
    with for_reason(sentences.IS_FREE):
        if not Job.objects.take_slot(job):
            return ASK_FOR_SLOT_AFTER
    job.refresh_from_db()
    return None


def validate(job: Job, _: KeepAlive) -> None:
    # Sorted in Python, as when it was collected: the database may collate names differently.
    contents = [bytes(file.content) for file in sorted(job.solution_files.all(), key=lambda file: file.name)]
    if not contents or digest(contents) != job.xml_sha256:
        raise JobError(Code.XML_INVALID, sentences.OTHER_SOLUTION)
    if job.delivery_names and current_rules().has_cutting_by_hand:
        settle_earlier_attempts(job, folders_here(job))  # people must not cut what a saw has, or may still take
    with transaction.atomic():
        saw, by_hand = who_cuts(job)
        if by_hand:
            job.leave_to_people(saw)
        else:
            message = sentences.CHECKED_FOR % {"saw": saw} if saw else sentences.CHECKED
            job.advance("validate", message, xml_ready_at=Now(), by_hand=False, saw=saw)


def hand_over(job: Job, keep_alive: KeepAlive) -> timedelta | None:
    """Deliver the solution to the saw once, and wait for its answer."""
    folders = folders_here(job)
    limit = current_rules().timeouts.osi_ack
    if job.handed_at is None:
        require_folder(job)
        try:
            with folder_errors(folders.saw):
                fill_inbox(job, folders, keep_alive)
        except JobError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            # A short outage of the share fails no job.
            if age(job, "xml_ready_at") > limit:
                values = {"limit": format_minutes(limit), "reason": error.message}
                raise JobError(Code.OSI_ACK_TIMEOUT, sentences.UNREACHABLE % values) from error
            return poll()
    answers = collect_answers(job, folders)
    if False in answers.values() or (None in answers.values() and age(job, "handed_at") > limit):
        # Withdrawn first, then judged: what the saw takes in between counts as taken.
        answers, errors = take_back(job, [name for name, is_taken in answers.items() if not is_taken], folders)
        if errors:
            raise errors[0]
        rejected = [name for name, is_taken in answers.items() if is_taken is False]
        if rejected:
            raise JobError(Code.OSI_ACK_FAILED, sentences.REJECTED % {"files": ", ".join(rejected)})
        if None in answers.values():
            message = sentences.NO_ANSWER % {"limit": format_minutes(limit)}
            raise JobError(Code.OSI_ACK_TIMEOUT, message)
    if None in answers.values():
        return poll()
    taken = job.solution_files.order_by("name").values_list("acknowledged_as", flat=True)
    job.advance("deliver", sentences.TAKEN % {"files": ", ".join(taken)}, open_deliveries=[])
    return None


def finish(job: Job, _: KeepAlive) -> None:
    """Close the job, and fix its amounts: later prices change nothing about it."""
    job.finish(figures=figures_json(job))


STEPS: dict[str, Step] = {
    JobState.NEW: prepare,
    JobState.PREPARED: lay_out,
    JobState.OPTI_IMPORTED: start,
    JobState.OPTI_RUNNING: optimize,
    JobState.OPTI_DONE: validate,
    JobState.XML_READY: hand_over,
    JobState.DELIVERED: finish,
}


def find_sheet(job: Job, *, name: str, sha256: str) -> bytes | None:
    """Return a sheet byte for byte as OptiPlanning got it, or None: OptiPlanning empties its import folder."""
    folders = Folders.from_settings()
    if settings.FLOOR_IS_HERE:
        with suppress(OSError):
            content = (folders.imports / name).read_bytes()
            if hashlib.sha256(content).hexdigest() == sha256:
                return content
    # Rendered again it is the same file, unless the rules or the template changed since.
    with suppress(JobError, OSError):
        for rendered, content in render_sheets(job.pk, plan_for(job, folders), folders):
            if rendered == {"name": name, "sha256": sha256}:
                return content
    return None
