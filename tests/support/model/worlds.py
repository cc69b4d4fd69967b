"""What is searched: rows, the workers that hold them, and the steps from one world to the next."""

from typing import Any, NamedTuple

LIMIT = 2  # attempts; leases, where jobs are leased
NOBODY, DEAD = None, -1
IDLE, HOLDS = "idle", "holds"
UNBORN = ""
DEADLY, SILENT = "every worker dies", "no answer arrives"  # two worlds without luck


class Row(NamedTuple):
    status: str
    holder: int | None = NOBODY
    is_lapsed: bool = False
    attempts: int = 0
    facts: frozenset[str] = frozenset()
    is_there: bool = False  # the outside world has it
    was_unknown: bool = False  # the row has shown that the outside world may have it
    was_decided: bool = False  # by a person, who saw this


class Worker(NamedTuple):
    row: int = -1
    phase: str = IDLE


class World(NamedTuple):
    rows: tuple[Row, ...]
    workers: tuple[Worker, ...] = (Worker(), Worker())

    def with_row(self, number: int, **changes: Any) -> "World":
        row = self.rows[number]._replace(**changes)
        return self._replace(rows=(*self.rows[:number], row, *self.rows[number + 1 :]))

    def with_worker(self, number: int, worker: Worker) -> "World":
        return self._replace(workers=(*self.workers[:number], worker, *self.workers[number + 1 :]))


def alike(world: World) -> World:
    """Return the same world with the workers in one order: it does not matter which of them holds what."""
    first, second = world.workers
    if first <= second:
        return world
    other = {0: 1, 1: 0}
    rows = tuple(row._replace(holder=other.get(row.holder, row.holder)) for row in world.rows)  # type: ignore[arg-type]
    return World(rows, (second, first))


class Step(NamedTuple):
    name: str
    world: World
    worlds: frozenset[str] = frozenset()  # without luck, in which it is taken all the same
    breach: str = ""
