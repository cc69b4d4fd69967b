"""The step that waits for OptiPlanning. OptiPlanning runs once, and its solution is stored with the job."""

import hashlib
from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now

from orchestrator.errors import Code, JobError
from orchestrator.models import Job, SolutionFile
from orchestrator.optiplanning.adapters import run_optiplanning
from orchestrator.optiplanning.collecting import Collected, Wanted, collect, is_begun, missing
from orchestrator.planning.rules import current_rules
from orchestrator.saw.saw_handover import is_cut_in_part
from orchestrator.states import Mode
from orchestrator.workflow.step_context import KeepAlive, age, folders_here, format_minutes, poll


def optimize(job: Job, keep_alive: KeepAlive) -> timedelta | None:
    """Run OptiPlanning unless it has run already, then store its solution when it is complete."""
    found, keep_looking = first_look(job)
    if keep_looking:
        time_left(job)
        return poll()
    if found is None and job.opti_ended_at is None:
        files = [folders_here().imports / sheet["name"] for sheet in job.files]
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
        found = find_solution(job)
    if found is None:
        time_left(job)
        return poll()
    return None if store(job, found) else poll()


def first_look(job: Job) -> tuple[Collected | None, bool]:
    """Return the solution, and whether to keep looking instead of starting OptiPlanning.

    Before OptiPlanning was seen to end, a file was left by a runner that died: either a complete solution, which is
    taken once it is stable, or a fragment, which OptiPlanning has to write again.
    """
    if job.opti_mode == Mode.C or job.opti_ended_at:
        return find_solution(job), False
    try:
        found = find_solution(job)
    except JobError as error:
        if error.code != Code.XML_INVALID:
            raise
        return None, False
    return found, found is None and is_begun(wanted(job), folders_here())


def find_solution(job: Job) -> Collected | None:
    return collect(wanted(job), folders_here())


def wanted(job: Job) -> Wanted:
    newer_than = job.attempt_started_at
    if newer_than is None:  # a check constraint rules this out
        raise JobError(Code.UNKNOWN, "The attempt has no start time.")
    sheets = [sheet["name"] for sheet in job.files]
    return Wanted(job.pk, newer_than, sheets, each=current_rules().xml_expected == "batch")


def store(job: Job, found: Collected) -> bool:
    """Store the solution and move on, in one transaction; return False if the files changed since they were read."""
    try:
        contents = {path.name: path.read_bytes() for path in found.paths}
    except OSError:
        return False  # removed or locked: it is still being written
    if digest(contents.values()) != found.sha256:
        return False
    if is_cut_in_part(job):
        message = "The saw took an earlier solution of this order. Another one would be cut a second time."
        raise JobError(Code.UNKNOWN, message)
    with transaction.atomic():
        job.solution_files.filter(acknowledged_as="").delete()
        SolutionFile.objects.bulk_create(
            SolutionFile(job=job, name=name, content=content, sha256=digest([content]))
            for name, content in contents.items()
        )
        columns = {"xml_sha256": found.sha256, "solution": dict(found.solution)}
        job.advance("collect", f"Collected {', '.join(contents)}.", **columns)
    return True


def digest(contents: Iterable[bytes]) -> str:
    """Return one sha256 of several files in the order of their names; for a single file it is the file's own."""
    return hashlib.sha256(b"".join(contents)).hexdigest()


def time_left(job: Job) -> timedelta:
    """Return OptiPlanning's remaining time; raise E_OPTI_XML_TIMEOUT if there is none."""
    left = current_rules().timeouts.opti_xml - age(job, "opti_started_at")
    if left <= timedelta(0):
        raise timed_out(job)
    return left


def timed_out(job: Job) -> JobError:
    lacking = missing(wanted(job), folders_here())
    of_what = f" for {', '.join(lacking)}, only for the other sheets," if lacking else ""
    limit = format_minutes(current_rules().timeouts.opti_xml)
    return JobError(Code.OPTI_XML_TIMEOUT, f"OptiPlanning wrote no solution{of_what} within {limit}.")
