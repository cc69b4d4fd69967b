"""The django-q2 cluster of a supervisor: forked from it, so that both share the memory of what is loaded."""

import gc
import multiprocessing
import os
import threading
import uuid
from collections.abc import Callable
from multiprocessing.connection import Connection

from django.conf import settings
from django_q.brokers import get_broker
from django_q.cluster import Sentinel
from django_q.conf import Conf
from django_q.signals import post_spawn

from kilit.database.limits import limit_statements
from kilit.workers.notifications import announce_changes
from kilit.workers.processes import end_children_with_us

fork = multiprocessing.get_context("fork")


class StopPipe:
    """What the sentinel takes for its stop event: set when the supervisor closes its end of a pipe.

    A real event has a lock, and a sentinel that is killed while it holds the lock would block the supervisor.
    """

    def __init__(self, pipe: "Connection[object, object]") -> None:
        self._pipe = pipe

    def wait(self, seconds: float) -> bool:
        return self._pipe.poll(seconds)

    def is_set(self) -> bool:
        return self._pipe.poll(0)


def guard(name: str, stop: StopPipe) -> None:
    """Run django-q2's sentinel, which starts the workers, the monitor and the pusher, until it has to stop."""
    Conf.CLUSTER_NAME = name
    post_spawn.connect(_limit_tasks)
    Sentinel(stop, threading.Event(), uuid.uuid4(), broker=get_broker(name))


def _limit_tasks(**_: object) -> None:
    """Let tasks wait longer than the processes that pass them on; sent by each worker process when it starts."""
    limit_statements(settings.TASK_TIMEOUT)
    announce_changes()


class Cluster:
    def __init__(self, name: str, run: Callable[[str, StopPipe], None] = guard) -> None:
        end_children_with_us()
        gc.freeze()  # the collector would write to the pages that both share
        reader, self._stop = fork.Pipe(duplex=False)
        self._process = fork.Process(target=_lead_group, args=(run, name, reader, self._stop), name=name)
        self._process.start()
        reader.close()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def has_ended(self) -> bool:
        return not self._process.is_alive()

    def stop(self) -> None:
        """Let running tasks finish, and end."""
        self._stop.close()

    def wait(self, seconds: float | None = None) -> bool:
        self._process.join(seconds)
        return self.has_ended()


def _lead_group(
    run: Callable[[str, StopPipe], None],
    name: str,
    reader: "Connection[object, object]",
    writer: "Connection[object, object]",
) -> None:
    os.setsid()
    writer.close()  # so that the supervisor has the only one
    run(name, StopPipe(reader))
