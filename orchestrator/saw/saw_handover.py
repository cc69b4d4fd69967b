"""Which files the saw has and which it still needs: each is delivered once, whatever happened before."""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path

from django.conf import settings
from django.db.models.functions import Now

from kilit.lock.audit import for_reason
from kilit.lock.guard import MoveRefused
from kilit.lock.leases import ClaimLost
from kilit.lock.outages import keep_trying
from kilit.lock.text import storable
from orchestrator import sentences
from orchestrator.errors import Code, HandoverUnknownError, JobError
from orchestrator.folders import Folders, folder_errors
from orchestrator.models import Job, SolutionFile
from orchestrator.models.job import LOST_TOO_MANY_RUNNERS
from orchestrator.saw.delivery import acknowledged, deliver, delivery_name, discard, stat_folders, withdraw

logger = logging.getLogger(__name__)


def files_to_deliver(job: Job) -> dict[SolutionFile, str]:
    files = job.solution_files.filter(acknowledged_as="").order_by("name")
    return {file: delivery_name(job.pk, job.attempt, Path(file.name)) for file in files}


def fill_inbox(job: Job, folders: Folders, keep_alive: Callable[[], None] = lambda: None) -> None:
    settle_earlier_attempts(job, folders)
    for file, name in files_to_deliver(job).items():
        # The name is recorded at the last moment before the saw can see the file. It stays open until the saw's answer
        # is known or we have the file back, whatever happens to this runner.
        recorded = {
            "delivery_names": list(dict.fromkeys([*job.delivery_names, name])),
            "open_deliveries": list(dict.fromkeys([*job.open_deliveries, name])),
        }
        deliver(
            bytes(file.content),
            name,
            folders,
            prove=partial(record_delivery, job, recorded, keep_alive),
            may_be_there=name in job.open_deliveries,
        )
    job.note(handed_at=Now())


def record_delivery(job: Job, columns: dict[str, list[str]], keep_alive: Callable[[], None]) -> None:
    """Record under the claim that the saw may have a file from now on; raise if it is not ours to deliver any more.

    If a commit's answer is lost, the name may be recorded although the file is still here. Left so, it would be a file
    that the saw may have, and people would have to look for it. So it is tried again, as long as the lease may last.
    """
    keep_trying(
        lambda: job.note(**columns),
        seconds=job.lease_length.total_seconds(),
        what=f"the delivery of {job}",
        between=keep_alive,
    )


def settle_earlier_attempts(job: Job, folders: Folders) -> None:
    """Take back files that earlier attempts left in the inbox; those that the saw took count as taken.

    The recorded names are used, because the current solution may be a different one.
    """
    ours = files_by_name(job)
    current = {delivery_name(job.pk, job.attempt, Path(file.name)) for file in ours.values()}
    earlier = [name for name in job.delivery_names if name not in current]
    for each in folders.at_each_saw() if earlier else [folders]:  # another saw may have cut the earlier attempts
        with folder_errors(each.saw):
            stat_folders(each)
    for name, saw in product(earlier, folders.at_each_saw()):
        if not _settle(name, saw):
            continue
        if name not in ours:
            message = sentences.EARLIER_SOLUTION % {"file": name}
            raise JobError(Code.UNKNOWN, message)
        mark_taken(ours[name], name)


def collect_answers(job: Job, folders: Folders) -> dict[str, bool | None]:
    """Return the saw's answer for each file by its name, and record which ones it has."""
    answers = {name: (file, acknowledged(name, folders)) for file, name in files_to_deliver(job).items()}
    for name, (file, is_taken) in answers.items():
        if is_taken:
            mark_taken(file, name)
    return {name: is_taken for name, (_file, is_taken) in answers.items()}


def take_back(job: Job, names: Iterable[str], folders: Folders) -> tuple[dict[str, bool | None], list[JobError]]:
    """Take back files that the saw may have; return its answers by name, and the errors of files that stay open."""
    ours = files_by_name(job)
    answers: dict[str, bool | None] = {}
    errors: list[JobError] = []
    for name in names:
        try:
            answers[name] = withdraw(name, folders, keep=True)
        except JobError as error:
            logger.warning("cannot take %s back from the saw: %s", name, error)
            errors.append(error)
        else:
            if answers[name] and name in ours:
                mark_taken(ours[name], name)
    settled = {*answers, *job.solution_files.values_list("acknowledged_as", flat=True)}
    job.note(open_deliveries=[name for name in job.open_deliveries if name not in settled])
    return answers, errors


def fail(job: Job, error: JobError) -> None:
    """Fail a held job. Its files are taken back from the saw first; an operator decides about those that cannot be."""
    if job.open_deliveries:
        job.renew()  # files that another runner delivers must not be taken back
        take_back(job, job.open_deliveries, Folders.at(job.saw))
    unknown = [*job.open_deliveries]
    if isinstance(error, HandoverUnknownError):
        unknown = list(dict.fromkeys([*unknown, error.name]))
    elif unknown:
        message = sentences.MAY_HAVE % {"files": ", ".join(unknown), "reason": error.message}
        error = JobError(Code.HANDOVER_UNKNOWN, message)
    with for_reason(storable(error.message, 1000)):
        job.fail(error, open_deliveries=unknown)
    # Only now: until the failure is stored, another runner may have to find out that we have them.
    for folders in Folders.at(job.saw).at_each_saw():
        with suppress(OSError):
            for name in job.delivery_names:
                discard(name, folders)


def taken_earlier(job: Job, folders: Folders) -> list[str]:
    """Return the names of earlier attempts that the saw has or may have; files in the inbox are taken back.

    Best effort: these names were settled before, but people move files, too.
    """
    taken = []
    for name, saw in product(job.delivery_names, folders.at_each_saw()):
        try:
            if _settle(name, saw):
                taken.append(name)
        except HandoverUnknownError:
            taken.append(name)
        except (JobError, OSError) as error:
            logger.warning("cannot take %s back from the saw: %s", name, error)
    ours = files_by_name(job)
    for name in ours.keys() & set(taken):
        mark_taken(ours[name], name)
    return taken


def release_lapsed() -> int:
    """Release the jobs of dead runners, fail those that lost too many; return the number of both."""
    failed = len(Job.objects.filter(open_deliveries=[]).fail_spent())
    if settings.FLOOR_IS_HERE:  # files are taken back only where the saw's folders are
        spent = Job.objects.exclude(open_deliveries=[]).lapsed_too_often()
        while job := spent.lease_next(order=("lease_until",)):
            with suppress(MoveRefused, ClaimLost):
                fail(job, LOST_TOO_MANY_RUNNERS)
                failed += 1
    return failed + Job.objects.release_lapsed()


def mark_open_taken(job: Job) -> None:
    ours = files_by_name(job)
    for name in job.open_deliveries:
        # A name that is not ours is of an earlier solution of this order: then the order was cut.
        cut = [ours[name]] if name in ours else job.solution_files.filter(acknowledged_as="").defer("content")
        for file in cut:
            mark_taken(file, name)


def is_cut_in_part(job: Job) -> bool:
    return job.solution_files.exclude(acknowledged_as="").exists()


def _settle(name: str, folders: Folders) -> bool:
    """Take a file back if it is still in the inbox; return whether the saw has it."""
    return bool((withdraw if (folders.inbox / name).exists() else acknowledged)(name, folders))


def mark_taken(file: SolutionFile, name: str) -> None:
    SolutionFile.objects.filter(pk=file.pk).update(acknowledged_as=name)


def files_by_name(job: Job) -> dict[str, SolutionFile]:
    """Return the solution's files by every name that an attempt may have given them."""
    files, attempts = job.solution_files.defer("content"), range(1, job.attempt + 1)
    return {delivery_name(job.pk, attempt, Path(file.name)): file for file in files for attempt in attempts}
