"""The jobs that this process is working on; the runner's status page shows them without asking the database."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from orchestrator.models import Job


@dataclass(frozen=True)
class CurrentJob:
    job: Job
    since: datetime


_by_thread: dict[int, CurrentJob] = {}


@contextmanager
def working_on(job: Job) -> Iterator[None]:
    thread = threading.get_ident()
    _by_thread[thread] = CurrentJob(job, timezone.now())
    try:
        yield
    finally:
        _by_thread.pop(thread, None)  # a tick within a tick has removed it


def current_jobs() -> list[CurrentJob]:
    return sorted(_by_thread.copy().values(), key=lambda current: current.since)
