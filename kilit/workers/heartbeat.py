"""Signs of life: of a cluster, by a task that went all the way through it, and of runners beside the workers."""

import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, InterfaceError
from django.db.models.functions import Now
from django_q.conf import Conf

from kilit.workers.models import Heartbeat, Runner

logger = logging.getLogger(__name__)

SIGN_EVERY = timedelta(seconds=5)


def beat() -> None:
    """Do nothing: the task's passage through the cluster is the message."""


def note_beat(**_: Any) -> None:
    """Write the heartbeat of the cluster, which has its supervisor's name.

    django-q2's monitor sends `post_execute` after the broker has acknowledged a task, so a beat proves pusher, worker,
    monitor and broker at once. Nothing less is a sign of life: a hung cluster reports itself as idle.
    """
    try:
        Heartbeat.objects.filter(name=Conf.CLUSTER_NAME).update(beat_at=Now())
    except DatabaseError:
        # An exception here would end the monitor, and the next beat proves as much as this one.
        logger.warning("heartbeat not written", exc_info=True)


def own_name() -> str:
    """Return a unique name for this process: a restarted container has the same host name and pid again."""
    return f"{socket.gethostname()[:64]}:{os.getpid()}:{secrets.token_hex(3)}"


@contextmanager
def present(queue: str) -> Iterator[Callable[[], None]]:
    """Show this process as a runner of a queue while some thread calls the yielded function every few seconds."""
    name, next_sign = own_name(), 0.0

    def sign() -> None:
        nonlocal next_sign
        if time.monotonic() < next_sign:
            return
        next_sign = time.monotonic() + SIGN_EVERY.total_seconds()
        # Without the database no one can see it, and the caller can do nothing about that.
        with suppress(DatabaseError, InterfaceError):
            if not Runner.objects.filter(name=name).update(alive_at=Now()):
                Runner.objects.create(name=name, queue=queue, pid=os.getpid())

    with suppress(DatabaseError, InterfaceError):
        Runner.objects.long_gone().delete()
    try:
        yield sign
    finally:
        with suppress(DatabaseError, InterfaceError):
            Runner.objects.filter(name=name).delete()
