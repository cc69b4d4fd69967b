"""Signs of life of runners, the processes beside the workers; without django-q2, which a runner does not need."""

import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from django.db import DatabaseError, InterfaceError
from django.db.models.functions import Now

from kilit.database.outage import database_outage
from kilit.lock.text import storable
from kilit.workers.models import Runner

SIGN_EVERY = timedelta(seconds=10)  # well within ALIVE_FOR


def own_name() -> str:
    """Return a unique name for this process: a restarted container has the same host name and pid again."""
    return f"{socket.gethostname()[:64]}:{os.getpid()}:{secrets.token_hex(3)}"


@contextmanager
def present(queue: str, *, hindrance: Callable[[], str] = str) -> Iterator[Callable[[], None]]:
    """Show this process as a runner of a queue while some thread calls the yielded function every few seconds."""
    name, next_sign = own_name(), 0.0

    def sign() -> None:
        nonlocal next_sign
        if time.monotonic() < next_sign:
            return
        next_sign = time.monotonic() + SIGN_EVERY.total_seconds()
        # Without the database no one can see it, and the caller can do nothing about that.
        with suppress(DatabaseError, InterfaceError):
            reason = storable(hindrance(), 1000)
            if not Runner.objects.filter(name=name).update(alive_at=Now(), hindrance=reason):
                Runner.objects.create(name=name, queue=queue, pid=os.getpid(), hindrance=reason)

    with suppress(DatabaseError, InterfaceError):
        Runner.objects.long_gone().delete()
    try:
        yield sign
    finally:
        if not database_outage.is_on:  # otherwise it is soon shown as gone, and deleted by another one
            with suppress(DatabaseError, InterfaceError):
                Runner.objects.filter(name=name).delete()
