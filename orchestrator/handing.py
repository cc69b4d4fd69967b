"""Which files the saw has, and which it still has to get: each once, whatever happened before (ORC-18)."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.delivering import acknowledged, deliver, delivery_name, withdraw
from orchestrator.faults import Fault
from orchestrator.folders import Folders
from orchestrator.models import Job, SolutionFile


def named(job: Job, *, attempt: int) -> dict[SolutionFile, str]:
    """Return the files that the saw has not got, with their names in its folders."""
    files = job.solution_files.filter(acknowledged_as="").order_by("name")
    return {file: delivery_name(job.pk, attempt, Path(file.name)) for file in files}


def settle_earlier_attempts(job: Job, folders: Folders) -> None:
    """Take back what an attempt that failed in between left in the inbox; what the saw took of it counts as taken."""
    for attempt in range(1, job.retry_count + 1):
        earlier = named(job, attempt=attempt)
        left = {file: name for file, name in earlier.items() if (folders.inbox / name).exists()}
        heard(left, folders, withdraw)
        heard(earlier, folders, acknowledged)


def lay_into_inbox(waiting: dict[SolutionFile, str], folders: Folders) -> None:
    """Give the saw its files; those it has, or had, are left alone."""
    with TemporaryDirectory(prefix="kilit-") as aside:
        for file, name in waiting.items():
            source = Path(aside) / "solution.xml"
            source.write_bytes(bytes(file.content))
            deliver(source, name, folders)


def heard(
    waiting: dict[SolutionFile, str], folders: Folders, ask: Callable[[str, Folders], bool | None]
) -> list[bool | None]:
    """Ask about each file, and remember which the saw has; a fault with one is told after all were asked."""
    answers: list[bool | None] = []
    faults: list[Fault] = []
    for file, name in waiting.items():
        try:
            answers.append(ask(name, folders))
        except Fault as fault:
            faults.append(fault)
        else:
            if answers[-1]:
                SolutionFile.objects.filter(pk=file.pk).update(acknowledged_as=name)
    if faults:
        raise faults[0]
    return answers
