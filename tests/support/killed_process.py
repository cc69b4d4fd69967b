"""A process that is killed in the middle of its work: a fork in which one function is replaced by its death."""

import os
import signal
from collections.abc import Callable
from typing import Any

from django.db import connections


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_after(function: Callable[..., Any]) -> Callable[..., None]:
    """Let a function do its work, and then die."""

    def run(*args: Any, **options: Any) -> None:
        function(*args, **options)
        die()

    return run


def fork(work: Callable[[], Any], place: Any, name: str, replacement: Any) -> int:
    """Work in a process of its own, with one function replaced; return how it ended."""
    child = os.fork()
    if child == 0:
        try:
            for connection in connections.all():
                connection.connection = None  # the parent's; closing it here would end it there
            setattr(place, name, replacement)
            work()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
