"""Runners as processes; `python -m tests.support.killed_runner` is one that collects solutions without waiting.

`fork_killed` forks a runner that sends itself SIGKILL at the `start` of a state's step, or at the `move` out of it,
after the step's effects outside the database. Everything else is the product's own runner.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import django
from django.apps import apps

if __name__ == "__main__" and not apps.ready:
    django.setup()

from django.db import connections

from orchestrator.models import Job
from orchestrator.models.job import JobQuerySet
from orchestrator.optiplanning import collecting
from orchestrator.workflow import steps, watching
from tests.support.waiting import PATIENCE


def fork_killed(state: str, point: str, *, meanwhile: Callable[[], Any]) -> int:
    """Run a runner that dies at a point of a state; return how it ended."""
    child = os.fork()
    if child == 0:
        try:
            for connection in connections.all():
                connection.connection = None  # the parent's; closing it here would end it there
            kill_at(state, point)
            watching.watch(threading.Event())
        finally:
            os._exit(1)
    end = time.monotonic() + PATIENCE
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        meanwhile()
        if time.monotonic() > end:
            os.kill(child, signal.SIGTERM)
        time.sleep(0.02)
    return -os.waitstatus_to_exitcode(ended[1])


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(state: str, point: str) -> None:
    """Patch the runner so that it kills itself at this point."""
    if point == "start":
        steps.STEPS[state] = lambda *_: die()
        return

    def deadly(original: Any) -> Any:
        def move(self: Any, *args: Any, **options: Any) -> Any:
            if getattr(self, "status", None) == state or (args and getattr(args[0], "status", None) == state):
                die()
            return original(self, *args, **options)

        return move

    Job.move = deadly(Job.move)  # type: ignore[method-assign]
    JobQuerySet.take_slot = deadly(JobQuerySet.take_slot)  # type: ignore[method-assign]


if __name__ == "__main__":
    collecting.STABLE_AFTER = timedelta(0)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    watching.watch(stop)
