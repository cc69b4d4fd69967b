"""Stores what a job is cut by: the solution of OptiPlanning, or the plan of the built-in optimiser."""

import hashlib
from collections.abc import Callable, Iterable, Mapping

from django.db import transaction

from orchestrator import sentences
from orchestrator.errors import Code, JobError
from orchestrator.models import Job, SolutionFile
from orchestrator.saw.saw_handover import is_cut_in_part

KeepAlive = Callable[[], None]


def store_solution(job: Job, verb: str, contents: Mapping[str, bytes], message: str, **columns: object) -> None:
    """Store the files of a solution and move on, in one transaction."""
    if is_cut_in_part(job):
        raise JobError(Code.UNKNOWN, sentences.CUT_EARLIER)
    with transaction.atomic():
        job.solution_files.filter(acknowledged_as="").delete()
        SolutionFile.objects.bulk_create(
            SolutionFile(job=job, name=name, content=content, sha256=digest([content]))
            for name, content in contents.items()
        )
        job.advance(verb, message, **columns)


def digest(contents: Iterable[bytes]) -> str:
    """Return one sha256 of several files in the order of their names; for a single file it is the file's own."""
    return hashlib.sha256(b"".join(contents)).hexdigest()
