"""The step that waits for OptiPlanning: it runs once, and its solution is kept beside the job."""

import hashlib
from collections.abc import Callable, Iterable
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now

from orchestrator.errors import Code, JobError
from orchestrator.models import Job, SolutionFile
from orchestrator.optiplanning import adapter
from orchestrator.optiplanning.collecting import Collected, Wanted, collect, is_there, missing
from orchestrator.planning.rules import current_rules
from orchestrator.saw.saw_handover import is_cut_in_part
from orchestrator.states import Mode
from orchestrator.workflow.step_context import advance, age, folders_here, poll

KeepAlive = Callable[[], None]


def optimise(job: Job, keep_alive: KeepAlive) -> timedelta | None:
    """Run OptiPlanning unless it has run already, then take its solution when that is whole."""
    if job.xml_sha256:
        advance(job, "collect", "The solution of the earlier attempt is still good.")
        return None
    found, is_begun = first_look(job)
    if is_begun:
        refuse_late_solution(job)
        return poll()
    if found is None and job.opti_ended_at is None:
        files = [folders_here().imports / sheet["name"] for sheet in job.files]
        # What is left of the time, so that a runner that dies each time comes to an end as well.
        left = refuse_late_solution(job)
        try:
            adapter(job.opti_mode).run(files, keep_alive=keep_alive, time_limit=left)
        except JobError as fault:
            if fault.code == Code.OPTI_XML_TIMEOUT:
                raise too_late(job) from fault  # the program was told what was left; people are told the limit
            raise
        job.note(opti_ended_at=Now())
        found = solution_of(job)
    if found is None:
        refuse_late_solution(job)
        return poll()
    return None if store(job, found) else poll()


def first_look(job: Job) -> tuple[Collected | None, bool]:
    """Return the solution, and whether to go on looking rather than start OptiPlanning.

    Before OptiPlanning was seen to end, a file is what a runner that died left: a whole solution, which is taken when
    it has been at rest, or the stump of one, which OptiPlanning has to write again.
    """
    if job.opti_mode == Mode.C or job.opti_ended_at:
        return solution_of(job), False
    try:
        found = solution_of(job)
    except JobError as fault:
        if fault.code != Code.XML_INVALID:
            raise
        return None, False
    return found, found is None and is_there(wanted(job), folders_here())


def solution_of(job: Job) -> Collected | None:
    """Look for the solution of this attempt."""
    return collect(wanted(job), folders_here())


def wanted(job: Job) -> Wanted:
    """Return which files are a solution of this attempt."""
    newer_than = job.attempt_started_at
    if newer_than is None:  # the database refuses a running job without it
        raise JobError(Code.UNKNOWN, "The attempt has no beginning.")
    sheets = [sheet["name"] for sheet in job.files]
    return Wanted(job.pk, newer_than, sheets, each=current_rules().xml_expected == "batch")


def store(job: Job, found: Collected) -> bool:
    """Keep the solution beside the job, and move on, both or neither; not when it was changed since it was judged."""
    try:
        contents = {path.name: path.read_bytes() for path in found.paths}
    except OSError:
        return False  # gone again since, or locked: whoever writes it is not done with it
    if digest(contents.values()) != found.sha256:
        return False
    if is_cut_in_part(job):
        raise JobError(
            Code.UNKNOWN, "The saw took an earlier solution of this order; another would be cut a second time."
        )
    with transaction.atomic():
        job.solution_files.filter(acknowledged_as="").delete()
        SolutionFile.objects.bulk_create(
            SolutionFile(job=job, name=name, content=content, sha256=digest([content]))
            for name, content in contents.items()
        )
        advance(
            job,
            "collect",
            f"Collected {', '.join(contents)}.",
            xml_sha256=found.sha256,
            solution=dict(found.solution),
        )
    return True


def digest(contents: Iterable[bytes]) -> str:
    """Return one sha256 of several files, in the order of their names; of one file it is that file's own."""
    return hashlib.sha256(b"".join(contents)).hexdigest()


def refuse_late_solution(job: Job) -> timedelta:
    """Return what is left of OptiPlanning's time, or end the waiting when it is over."""
    left = current_rules().opti_xml_after - age(job, "opti_started_at")
    if left <= timedelta(0):
        raise too_late(job)
    return left


def too_late(job: Job) -> JobError:
    """Return what ends the waiting for OptiPlanning."""
    minutes = current_rules().opti_xml_after.total_seconds() / 60
    lacking = missing(wanted(job), folders_here())
    of_what = f" of {', '.join(lacking)}, though of the other sheets" if lacking else ""
    return JobError(Code.OPTI_XML_TIMEOUT, f"OptiPlanning brought no solution{of_what} within {minutes:g} min.")
