"""Short outages of a network share: the job waits, and fails only if the share stays away."""

import errno
import threading
import time
from datetime import timedelta
from uuid import UUID

from orchestrator.errors import Code, JobError

OUTAGE_LIMIT = timedelta(minutes=5)
MOST_JOBS = 1000
# Errors of an unmounted share or an unreachable server; a full disk or a missing permission is another matter.
OUTAGE_ERRNOS = {
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
# The same as Windows error numbers: path, name or share not found, device gone, timeout, network unreachable.
OUTAGE_WINERRORS = {53, 59, 64, 67, 121, 1231}


class ShareOutages:
    """Since when this process has seen each job's share away. Every process counts for itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[UUID, float] = {}

    def is_short(self, job_id: UUID, error: JobError) -> bool:
        """Return whether a job failed because of an outage that is still within the limit."""
        cause = error.__cause__
        if error.code != Code.UNKNOWN or not isinstance(cause, OSError):  # a missing template has its own code
            return False
        if cause.errno not in OUTAGE_ERRNOS and getattr(cause, "winerror", None) not in OUTAGE_WINERRORS:
            return False
        now = time.monotonic()
        with self._lock:
            since = self._since.pop(job_id, now)
            if now - since > OUTAGE_LIMIT.total_seconds():
                return False
            self._since[job_id] = since  # at the end: the first entry is dropped first
            if len(self._since) > MOST_JOBS:
                del self._since[next(iter(self._since))]
        return True
