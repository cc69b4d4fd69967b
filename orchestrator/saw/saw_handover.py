"""Which files the saw has, and which it still has to get: each once, whatever happened before."""

import logging
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings

from orchestrator.errors import Code, JobError
from orchestrator.files.exchange import folder_errors
from orchestrator.files.folders import Folders
from orchestrator.models import Job, SolutionFile
from orchestrator.saw.delivery import acknowledged, deliver, delivery_name, withdraw

logger = logging.getLogger(__name__)


def named(job: Job, *, attempt: int) -> dict[SolutionFile, str]:
    """Return the files that the saw has not got, with their names in its folders."""
    files = job.solution_files.filter(acknowledged_as="").order_by("name")
    return {file: delivery_name(job.pk, attempt, Path(file.name)) for file in files}


def settle_earlier_attempts(job: Job, folders: Folders) -> None:
    """Take back what earlier attempts left in the inbox; what the saw took of it counts as taken.

    They are asked for by the names that were noted before the files were laid, not by those of the solution we have
    now: that may be another one.
    """
    with folder_errors(folders.saw):
        for folder in (folders.inbox, folders.processed, folders.failed):
            folder.stat()  # a share that is away says nothing about its files
    ours = _files_by_name(job)
    for name in _earlier_names(job):
        if not _settle(name, folders):
            continue
        if name not in ours:
            raise JobError(
                Code.UNKNOWN,
                f"The saw took {name}, an earlier solution of this order; another one would be cut a second time.",
            )
        _remember(ours[name], name)


def take_back(job: Job, folders: Folders) -> list[str]:
    """Take out of the inbox what can be taken: a job that ends here should not be cut any more. Tell what the saw has.

    Best effort: the names stay noted, and whoever retries the job settles them before anything else is handed over.
    """
    ours, taken = _files_by_name(job), []
    for name in job.delivery_names:
        try:
            if _settle(name, folders):
                taken.append(name)
                if name in ours:
                    _remember(ours[name], name)
        except (JobError, OSError) as error:
            logger.warning("%s could not be taken back from the saw: %s", name, error)
    return taken


def release_lapsed() -> int:
    """Let jobs of runners that are gone go on, and end those that cost too many; return how many of both."""
    # Of what was handed to the saw whoever reaches its folders says the end, so that it can be taken back.
    spent = Job.objects.all() if settings.FLOOR_IS_HERE else Job.objects.filter(delivery_names=[])
    failed = spent.fail_spent()
    for job in Job.objects.filter(pk__in=failed).exclude(delivery_names=[]):
        take_back(job, Folders.from_settings())
    return len(failed) + Job.objects.release_lapsed()


def is_cut_in_part(job: Job) -> bool:
    """Tell whether the saw has taken something of this order."""
    return job.solution_files.exclude(acknowledged_as="").exists()


def lay_into_inbox(waiting: dict[SolutionFile, str], folders: Folders, *, prove: Callable[[], None]) -> None:
    """Give the saw its files, proving the claim before each; those it has, or had, are left alone."""
    with TemporaryDirectory(prefix="kilit-") as aside:
        for file, name in waiting.items():
            source = Path(aside) / "solution.xml"
            source.write_bytes(bytes(file.content))
            deliver(source, name, folders, prove=prove)


def heard(
    waiting: dict[SolutionFile, str], folders: Folders, ask: Callable[[str, Folders], bool | None]
) -> list[bool | None]:
    """Ask about each file, and remember which the saw has; a fault with one is told after all were asked."""
    answers: list[bool | None] = []
    faults: list[JobError] = []
    for file, name in waiting.items():
        try:
            answers.append(ask(name, folders))
        except JobError as fault:
            faults.append(fault)
        else:
            if answers[-1]:
                _remember(file, name)
    if faults:
        raise faults[0]
    return answers


def _settle(name: str, folders: Folders) -> bool:
    """Take a file back if it is still in the inbox; tell whether the saw has it."""
    return bool((withdraw if (folders.inbox / name).exists() else acknowledged)(name, folders))


def _remember(file: SolutionFile, name: str) -> None:
    SolutionFile.objects.filter(pk=file.pk).update(acknowledged_as=name)


def _files_by_name(job: Job) -> dict[str, SolutionFile]:
    """Return the files of the solution, under every name that an attempt may have given them."""
    files = list(job.solution_files.defer("content"))
    attempts = range(1, job.retry_count + 2)
    return {delivery_name(job.pk, attempt, Path(file.name)): file for file in files for attempt in attempts}


def _earlier_names(job: Job) -> list[str]:
    files = job.solution_files.defer("content")
    current = {delivery_name(job.pk, job.retry_count + 1, Path(file.name)) for file in files}
    return [name for name in job.delivery_names if name not in current]
