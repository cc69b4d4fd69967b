"""A process that is killed at a point of its work: a fork in which that point is its death."""

import os
import signal
import time
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar

import pytest
from django.db import connections

from tests.support.waiting import PATIENCE

KILLED = -signal.SIGKILL

Point = Callable[[], None]  # changes the fork so that it dies there


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before(place: Any, name: str) -> Point:
    """Die instead of this function."""
    return lambda: setattr(place, name, die)


def after(place: Any, name: str, *, times: int = 1) -> Point:
    """Die when this function has done its work so many times."""

    def change() -> None:
        function, calls = getattr(place, name), count(1)

        def run(*args: Any, **options: Any) -> Any:
            result = function(*args, **options)
            if next(calls) == times:
                die()
            return result

        setattr(place, name, run)

    return change


def fork(work: Callable[[], Any], point: Point, *, meanwhile: Callable[[], Any] = lambda: None) -> int:
    """Work in a process of its own that dies at a point; return how it ended."""
    child = os.fork()
    if child == 0:
        try:
            for connection in connections.all():
                connection.connection = None  # the parent's; closing it here would end it there
            point()
            work()
        finally:
            os._exit(1)
    end = time.monotonic() + PATIENCE
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        meanwhile()
        if time.monotonic() > end:
            os.kill(child, signal.SIGTERM)
        time.sleep(0.02)
    return os.waitstatus_to_exitcode(ended[1])


class Scene:
    """A kind of work that dies at a point; `get` gets a fixture."""

    points: ClassVar[dict[str, Point]]
    marks: ClassVar[tuple[Any, ...]] = ()
    work: Callable[[], Any]

    @classmethod
    def cases(cls) -> list[Any]:
        return [pytest.param(cls, point, id=f"{cls.__name__} {point}", marks=cls.marks) for point in cls.points]

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        """Prepare what is there before."""

    def look(self) -> None:
        """Do what others do while it works."""

    def die(self, point: str) -> int:
        """Work in a process that dies; return how it ended."""
        return fork(self.work, self.points[point], meanwhile=self.look)

    def go_on(self) -> None:
        """Check what it left, and let whoever comes next go on."""

    def prove(self) -> None:
        """Check that all of it happened, once."""
