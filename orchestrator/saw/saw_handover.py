"""Which files the saw has and which it still needs: each is delivered once, whatever happened before."""

import logging
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from orchestrator.errors import Code, JobError
from orchestrator.files.exchange import folder_errors
from orchestrator.files.folders import Folders
from orchestrator.models import Job, SolutionFile
from orchestrator.saw.delivery import acknowledged, delivery_name, withdraw

logger = logging.getLogger(__name__)


def files_to_deliver(job: Job, *, attempt: int) -> dict[SolutionFile, str]:
    """Return the files that the saw has not taken, with their names in its folders."""
    files = job.solution_files.filter(acknowledged_as="").order_by("name")
    return {file: delivery_name(job.pk, attempt, Path(file.name)) for file in files}


def settle_earlier_attempts(job: Job, folders: Folders) -> None:
    """Take back files that earlier attempts left in the inbox; those that the saw took count as taken.

    The names are the recorded ones, not those of the current solution, which may be a different one.
    """
    with folder_errors(folders.saw):
        for folder in (folders.inbox, folders.processed, folders.failed):
            folder.stat()  # if the share is away, nothing is known about its files
    ours = _files_by_name(job)
    current = {delivery_name(job.pk, job.retry_count + 1, Path(file.name)) for file in ours.values()}
    for name in job.delivery_names:
        if name in current or not _settle(name, folders):
            continue
        if name not in ours:
            message = f"The saw took {name}, an earlier solution of this order. Another one would be cut a second time."
            raise JobError(Code.UNKNOWN, message)
        _mark_taken(ours[name], name)


def take_back(job: Job, folders: Folders) -> list[str]:
    """Remove a job's files from the inbox, because the job ends here; return the names that the saw has taken.

    Best effort: the names stay recorded, and a retry settles them before it delivers anything.
    """
    ours, taken = _files_by_name(job), []
    for name in job.delivery_names:
        try:
            if _settle(name, folders):
                taken.append(name)
                if name in ours:
                    _mark_taken(ours[name], name)
        except (JobError, OSError) as error:
            logger.warning("cannot take %s back from the saw: %s", name, error)
    return taken


def release_lapsed() -> int:
    """Release the jobs of dead runners, fail those that lost too many; return the number of both."""
    # A job with delivered files is failed only where the saw's folders are, so that the files can be taken back.
    spent = Job.objects.all() if settings.FLOOR_IS_HERE else Job.objects.filter(delivery_names=[])
    failed = spent.fail_spent()
    for job in Job.objects.filter(pk__in=failed).exclude(delivery_names=[]):
        take_back(job, Folders.from_settings())
    return len(failed) + Job.objects.release_lapsed()


def is_cut_in_part(job: Job) -> bool:
    return job.solution_files.exclude(acknowledged_as="").exists()


def collect_answers(
    waiting: dict[SolutionFile, str], folders: Folders, ask: Callable[[str, Folders], bool | None]
) -> list[bool | None]:
    """Ask about every file and record which ones the saw has; an error is raised after all were asked."""
    answers: list[bool | None] = []
    errors: list[JobError] = []
    for file, name in waiting.items():
        try:
            answers.append(ask(name, folders))
        except JobError as error:
            errors.append(error)
        else:
            if answers[-1]:
                _mark_taken(file, name)
    if errors:
        raise errors[0]
    return answers


def _settle(name: str, folders: Folders) -> bool:
    """Take a file back if it is still in the inbox; return whether the saw has it."""
    return bool((withdraw if (folders.inbox / name).exists() else acknowledged)(name, folders))


def _mark_taken(file: SolutionFile, name: str) -> None:
    SolutionFile.objects.filter(pk=file.pk).update(acknowledged_as=name)


def _files_by_name(job: Job) -> dict[str, SolutionFile]:
    """Return the solution's files by every name that an attempt may have given them."""
    files, attempts = job.solution_files.defer("content"), range(1, job.retry_count + 2)
    return {delivery_name(job.pk, attempt, Path(file.name)): file for file in files for attempt in attempts}
