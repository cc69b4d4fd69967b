"""Shares that are away for a while: a job that meets one waits, and fails only when it stays away."""

import errno
import threading
import time
from datetime import timedelta
from uuid import UUID

from orchestrator.errors import Code, JobError

AWAY_FOR = timedelta(minutes=5)
MOST_KEPT = 1000
# What a share answers that was unmounted, or whose server is away; a full disk or a forbidden folder is another matter.
AWAY = {
    errno.ENOENT,
    errno.EIO,
    errno.ENODEV,
    errno.ENOTCONN,
    errno.ESTALE,
    errno.ETIMEDOUT,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
}
# The same in Windows' own numbers: path, name or share not found, device gone, no answer, network unreachable.
AWAY_ON_WINDOWS = {53, 59, 64, 67, 121, 1231}


class Absences:
    """Since when this process has found jobs' shares away; another process counts for itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[UUID, float] = {}

    def is_short(self, job_id: UUID, fault: JobError) -> bool:
        """Tell whether a job failed because a share is away, and has not been for long."""
        if fault.code != Code.UNKNOWN or not is_away(fault.__cause__):  # a template that is gone has its own code
            return False
        now = time.monotonic()
        with self._lock:
            since = self._since.pop(job_id, now)
            if now - since > AWAY_FOR.total_seconds():
                return False
            self._since[job_id] = since  # at the end: the first is the one forgotten
            if len(self._since) > MOST_KEPT:
                del self._since[next(iter(self._since))]
        return True


def is_away(error: BaseException | None) -> bool:
    """Tell an absence from other failures of a folder."""
    if not isinstance(error, OSError):
        return False
    return error.errno in AWAY or getattr(error, "winerror", None) in AWAY_ON_WINDOWS
