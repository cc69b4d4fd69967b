"""Interleavings on purpose: before each statement a schedule decides who goes on.

    with Stage(2) as stage:
        outcomes = stage.perform([claim, cap], Order(first=0, switches={3: 1}))

Each actor has a thread and a connection of its own. Only one runs at a time: until its next statement or commit, or
until it waits for a lock that another one holds. So the order decides all that happens, and the same order does it
again: Hypothesis can choose orders (`orders`) and shrink them.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Self

from django.db import connection, connections
from hypothesis import strategies as st

from tests.support.waiting import PATIENCE

Part = Callable[[], Any]
LONGEST = 32  # turns in which an order may switch; the rest of a performance has no more
# What changes nothing that others see, and the doorbells, which carry no data.
QUIET = re.compile(r"\s*(SAVEPOINT|RELEASE|ROLLBACK|SET |SELECT set_config|.*(workers_bell|django_q_ormq))", re.DOTALL)
BLOCKED = "SELECT pid FROM unnest(%s::int[]) AS pid WHERE pg_blocking_pids(pid) && %s::int[]"
LOOK_AFTER = 0.003  # seconds; most statements have ended by then


class CurtainFallen(BaseException):
    """The performance was ended before this actor came to its end."""


class Outcome(NamedTuple):
    value: Any = None
    error: Exception | None = None


@dataclass(frozen=True)
class Order:
    """Who begins, and at which turns another one goes on: the next of those who can, or the one after."""

    first: int = 0
    switches: Mapping[int, int] = field(default_factory=dict)

    def choose(self, turn: int, last: int, able: Sequence[int]) -> int:
        """Return who goes on of those who can; without a switch it is the one who went last."""
        after = [number for number in able if number > last] + [number for number in able if number < last]
        if last in able and not (self.switches.get(turn) and after):
            return last
        return after[(self.switches.get(turn, 1) - 1) % len(after)]


def orders(actors: int, *, switches: int = 4) -> st.SearchStrategy[Order]:
    """Return orders of so many actors, simplest first: one after the other, then with more switches."""
    by = st.integers(1, max(actors - 1, 1))
    turns = st.dictionaries(st.integers(1, LONGEST), by, max_size=switches)
    return st.builds(Order, first=st.integers(0, actors - 1), switches=turns)


class Actor(threading.Thread):
    """A thread with its own connection, which stops before each statement and each commit until it has its turn."""

    def __init__(self, number: int, reports: "SimpleQueue[tuple[int, str | Outcome]]") -> None:
        super().__init__(daemon=True)
        self.number, self.reports = number, reports
        self.parts: SimpleQueue[Part | None] = SimpleQueue()
        self.turn = threading.Semaphore(0)
        self.pid = 0
        self.is_over = False
        self.rewrite: Callable[[str], str] = str  # of each statement, to see what it is like without a guard

    def run(self) -> None:
        connection.ensure_connection()
        self.pid = connection.connection.info.backend_pid
        with connection.cursor() as cursor:
            cursor.execute("SET deadlock_timeout = '50ms'")
        wrapper: Any = connection  # whose methods are no part of its type
        commit = wrapper._commit

        def stop_and_commit() -> None:
            self.stop("COMMIT")
            commit()

        wrapper._commit = stop_and_commit
        self.reports.put((self.number, Outcome()))
        try:
            with connection.execute_wrapper(self._stop_before):
                while part := self.parts.get():
                    self.reports.put((self.number, self._perform(part)))
        except CurtainFallen:
            pass
        finally:
            del wrapper._commit
            connections.close_all()

    def _perform(self, part: Part) -> Outcome:
        self.stop("begins")
        try:
            return Outcome(part())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what happened
            return Outcome(error=error)

    def _stop_before(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        sql = self.rewrite(str(sql))
        if not QUIET.match(sql):
            self.stop(sql)
        return execute(sql, params, many, context)

    def stop(self, what: str) -> None:
        self.reports.put((self.number, what))
        self.turn.acquire()
        if self.is_over:
            raise CurtainFallen


class Stage:
    """Actors that perform one order after the other on the same connections."""

    def __init__(self, actors: int = 2) -> None:
        self.reports: SimpleQueue[tuple[int, str | Outcome]] = SimpleQueue()
        self.actors = [Actor(number, self.reports) for number in range(actors)]
        self.trace: list[tuple[int, str]] = []  # who did what, in the order in which it happened

    @contextmanager
    def rewritten(self, rewrite: Callable[[str], str]) -> Iterator[None]:
        """Let all statements of the actors be other ones."""
        for actor in self.actors:
            actor.rewrite = rewrite
        try:
            yield
        finally:
            for actor in self.actors:
                actor.rewrite = str

    def __enter__(self) -> Self:
        for actor in self.actors:
            actor.start()
            self.reports.get(timeout=PATIENCE)
        return self

    def __exit__(self, *error: object) -> None:
        for actor in self.actors:
            actor.is_over = True
            actor.parts.put(None)
            actor.turn.release()
        with connection.cursor() as cursor:
            pids = [actor.pid for actor in self.actors]
            cursor.execute("SELECT pg_cancel_backend(pid) FROM unnest(%s::int[]) AS pid", [pids])
        for actor in self.actors:
            actor.join(timeout=PATIENCE)

    def perform(self, parts: Sequence[Part], order: Order) -> list[Outcome]:
        self.trace = []
        scene = _Scene(self, running=set(range(len(parts))))
        for actor, part in zip(self.actors, parts, strict=False):
            actor.parts.put(part)
        scene.settle()
        turn, last = 0, order.first
        while scene.stopped or scene.running:
            if scene.stopped:
                last = order.choose(turn, last, sorted(scene.stopped)) if turn else order.first
                turn += 1
                self.trace.append((last, scene.stopped.pop(last)))
                scene.running.add(last)
                self.actors[last].turn.release()
            scene.settle()
        return [scene.outcomes[number] for number in range(len(parts))]


@dataclass
class _Scene:
    """Who has stopped before what, who runs or waits for a lock, and how the others ended."""

    stage: Stage
    running: set[int]
    stopped: dict[int, str] = field(default_factory=dict)
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    def settle(self) -> None:
        """Wait until all who run have stopped, ended, or wait for a lock of one who has stopped."""
        end = time.monotonic() + PATIENCE
        while self.running:
            try:
                number, report = self.stage.reports.get(timeout=LOOK_AFTER)
            except Empty:
                if self.stopped and self._blocked() == self.running:
                    return
                assert time.monotonic() < end, f"{self.running} neither go on nor wait: {self.stage.trace}"
                continue
            self.running.discard(number)
            if isinstance(report, Outcome):
                self.outcomes[number] = report
            else:
                self.stopped[number] = report

    def _blocked(self) -> set[int]:
        number_of = {actor.pid: actor.number for actor in self.stage.actors}
        with connection.cursor() as cursor:
            running = [self.stage.actors[number].pid for number in self.running]
            cursor.execute(BLOCKED, [running, list(number_of)])
            return {number_of[pid] for (pid,) in cursor.fetchall()}
