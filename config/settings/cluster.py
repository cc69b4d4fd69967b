"""Settings of django-q2; docs/decisions/0003-doorbells.md explains each value."""

from math import ceil
from typing import Any


def cluster(*, workers: int, timeout: int) -> dict[str, Any]:
    return {
        "name": "kilit",
        "orm": "default",
        "workers": workers,
        "timeout": timeout,
        # The visibility timeout starts when a task is prefetched, so few are, and `retry` covers the wait.
        "queue_limit": workers,
        "bulk": 1,
        "retry": (ceil((workers + 1) / workers) + 1) * (timeout + 3) + 30,
        "broker_class": "kilit.workers.broker.PatientBroker",
        "poll": 0.1,  # seconds between polls when no notification arrives
        "ack_failures": True,
        "max_attempts": 1,
        "save_limit": -1,
        "catch_up": False,
        "scheduler": False,  # supervisors run scheduled tasks; one bad row would stop all of django-q2's schedules
        "ALT_CLUSTERS": {},  # each supervisor's cluster has its own name
        "guard_cycle": 0.5,
        "recycle": 500,
    }
