"""Searches everything that can happen to a job, or to two that depend on each other, as their tables say it.

There are two workers, which may die or stop at any moment, sweeps, an operator, and a network that loses requests and
answers. Each reachable world is looked at once; a step that breaks a promise is a breach, with the shortest way to it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple

from kilit.lock.table import Answer, By, Claim, Facts, Kind, Lifecycle, Move
from tests.support.model.worlds import (
    DEAD,
    DEADLY,
    HOLDS,
    IDLE,
    LIMIT,
    NOBODY,
    SILENT,
    UNBORN,
    Row,
    Step,
    Worker,
    World,
    alike,
)

BOTH = frozenset({DEADLY, SILENT})


@dataclass(frozen=True)
class System:
    """One row for each table. `relations` name, for a row, the row that a relation of its table means."""

    tables: tuple[Lifecycle, ...]
    relations: Mapping[tuple[int, str], int] = field(default_factory=dict)
    born_later: Mapping[int, Mapping[int, str]] = field(default_factory=dict)  # and the fact that it gives another row
    single: frozenset[str] = frozenset()  # states in which at most one row may be
    has_outside: bool = True  # facts that no move makes may become true
    asks_for_claim: bool = True  # a holder that reports proves its claim
    records_unknown: bool = True  # a row that was taken from its holder says so

    def first(self) -> World:
        return World(tuple(Row(UNBORN if n in self.born_later else t.initial[0]) for n, t in enumerate(self.tables)))

    @cached_property
    def named(self) -> frozenset[tuple[int, str]]:
        """Return the moves that a row makes only together with another."""
        joint = [(number, move.joint) for number, table in enumerate(self.tables) for move in table.moves.values()]
        names = [(self.relations.get((number, name)), verb) for number, verbs in joint for name, verb in verbs.items()]
        return frozenset((other, verb) for other, verb in names if other is not None)

    def crowd(self, world: World) -> str:
        states = [row.status for row in world.rows if row.status in self.single]
        return f"two rows are in {states[0]}" if len(states) > 1 else ""

    # What can happen next

    def steps(self, world: World) -> Iterator[Step]:
        for number in range(len(self.tables)):
            yield from self._births(world, number)
            if world.rows[number].status == UNBORN:
                continue
            yield from self._environment(world, number)
            for verb, move in self.tables[number].moves.items():
                if world.rows[number].status in move.sources and self._allows(world, number, move):
                    yield from self._makers(world, number, verb, move)
        for number, worker in enumerate(world.workers):
            if worker.phase != IDLE:
                yield from self._calls(world, number)
                yield Step(f"worker {number} dies", self._without(world, number), BOTH)

    def _births(self, world: World, number: int) -> Iterator[Step]:
        table = self.tables[number]
        if world.rows[number].status == UNBORN:
            born = world.with_row(number, status=table.initial[0])
            for other, fact in self.born_later[number].items():
                born = born.with_row(other, facts=born.rows[other].facts | {fact})
            yield Step(f"{table.queue} arrives", born)

    def _environment(self, world: World, number: int) -> Iterator[Step]:
        row, table = world.rows[number], self.tables[number]
        for fact in outside_facts(table) - row.facts if self.has_outside else ():
            yield Step(f"{table.queue} becomes {fact}", world.with_row(number, facts=row.facts | {fact}))
        if row.holder is not NOBODY and not row.is_lapsed:
            yield Step(f"the lease of {table.queue} runs out", world.with_row(number, is_lapsed=True), BOTH)
        if not is_leased(table) or table.kinds.get(row.status) not in {Kind.WAITING, Kind.HELD} or waits(row, table):
            return
        if row.is_lapsed and row.attempts < LIMIT:
            free = world.with_row(number, holder=NOBODY, is_lapsed=False, attempts=row.attempts + 1)
            yield Step(f"sweep releases {table.queue}", free, BOTH)
        for worker, held in enumerate(world.workers):
            if row.holder is NOBODY and held.phase == IDLE:
                leased = world.with_row(number, holder=worker).with_worker(worker, Worker(number, HOLDS))
                yield Step(f"worker {worker} leases {table.queue}", leased, BOTH)

    def _makers(self, world: World, number: int, verb: str, move: Move) -> Iterator[Step]:
        row, name = world.rows[number], f"{verb} {self.tables[number].queue}"
        if By.HOLDER in move.by:
            for worker in range(len(world.workers)):
                yield from self._holder(world, number, worker, name, move)
        is_free = row.holder is NOBODY or row.is_lapsed
        if By.SWEEP in move.by and is_free and self._beside(world, number, move):
            yield self._moved(world, number, move, f"sweep: {name}", by=By.SWEEP, worlds=BOTH)
        if By.OPERATOR in move.by:
            yield self._moved(world, number, move, f"operator: {name}", by=By.OPERATOR)
        if By.PROVIDER in move.by and row.holder is NOBODY:
            for answer in sorted(move.after - {Answer.NONE}):
                if answer == Answer.NO or row.is_there:
                    yield self._moved(world, number, move, f"verdict: {name}", by=By.PROVIDER, answer=answer)
        if By.ROW in move.by and is_free and (number, verb) not in self.named and self._beside(world, number, move):
            yield from self._joint(world, number, name, move)

    def _joint(self, world: World, number: int, name: str, move: Move) -> Iterator[Step]:
        """Move a row because of another one, which may move in the same transaction."""
        step = self._moved(
            world, number, move, f"because of another: {name}", by=By.ROW, worlds=self._certain(number, move)
        )
        for relation, verb in move.joint.items():
            other = self.relations.get((number, relation))
            if other is None:
                return
            joint = self.tables[other].moves[verb]
            if world.rows[other].status not in joint.sources or not self._allows(world, other, joint):
                return
            step = step._replace(world=self._moved(step.world, other, joint, "", by=By.ROW).world)
        yield step

    def _holder(self, world: World, number: int, worker: int, name: str, move: Move) -> Iterator[Step]:
        row, held, table = world.rows[number], world.workers[worker], self.tables[number]
        name = f"worker {worker}: {name}"
        if move.claim == Claim.TAKES:
            if held.phase != IDLE or not self._beside(world, number, move):
                return
            breach = "" if row.holder is NOBODY else "a row has two holders"
            step = self._moved(world, number, move, name, by=By.HOLDER, holder=worker, worlds=BOTH)
            taken = step.world.with_worker(worker, Worker(number, HOLDS))
            yield step._replace(world=taken, breach=step.breach or breach)
            return
        if held.row != number or held.phase == IDLE or (move.alone and not self._is_alone(world, number, move)):
            return
        if self.asks_for_claim and row.holder != worker:
            return
        if row.status in sending(table) and not fits(held.phase, row, move):
            return
        breach = "" if row.holder == worker else "a stale holder moved a row"
        kept = worker if move.claim == Claim.NEEDS else NOBODY
        answer = Answer(held.phase) if held.phase != HOLDS else Answer.NO
        step = self._moved(world, number, move, name, by=By.HOLDER, holder=kept, answer=answer, worlds={SILENT})
        after = Worker(number, HOLDS) if move.claim == Claim.NEEDS else Worker()
        yield step._replace(world=step.world.with_worker(worker, after), breach=step.breach or breach)

    def _calls(self, world: World, number: int) -> Iterator[Step]:
        """Let a worker send what it holds, or believes to hold, and get an answer or none."""
        worker = world.workers[number]
        row, table = world.rows[worker.row], self.tables[worker.row]
        conditions = sending(table).get(row.status if is_leased(table) else held_state(table))
        if worker.phase != HOLDS or conditions is None:
            return
        if not any(holds(row, facts) for facts in conditions):
            # It was sent before, and only the answer is missing.
            yield from self._answers(world, number, may_send=False)
        elif not any("open" in facts for facts in conditions):
            yield from self._answers(world, number, may_send=True)
        elif row.holder == number:
            marked = world.with_row(worker.row, facts=row.facts | {"open"})
            yield from self._answers(marked, number, may_send=True)
            yield Step(f"worker {number} records that it sends, and dies", self._without(marked, number), BOTH)

    def _answers(self, world: World, number: int, *, may_send: bool) -> Iterator[Step]:
        worker = world.workers[number]
        row, table = world.rows[worker.row], self.tables[worker.row]

        def answered(phase: str, what: str, *, worlds: frozenset[str] = frozenset(), arrives: bool) -> Step:
            breach = twice(row, table) if arrives else ""
            is_there = row.is_there or arrives
            sent = world.with_row(worker.row, is_there=is_there, was_decided=row.was_decided and not arrives)
            name = f"worker {number} sends {table.queue}: {what}"
            return Step(name, sent.with_worker(number, Worker(worker.row, phase)), worlds, breach)

        silent = frozenset({SILENT})
        yield answered(Answer.NONE, "nothing arrives", worlds=silent, arrives=False)
        if may_send or row.is_there:
            yield answered(Answer.YES, "yes", arrives=may_send)
        if not may_send and not row.is_there:
            yield answered(Answer.NO, "it is taken back", arrives=False)
        if may_send:
            yield answered(Answer.NONE, "the answer is lost", worlds=silent, arrives=True)
            yield answered(Answer.NO, "no", arrives=False)
            if any(Answer.LATER in move.after for move in table.moves.values()):
                yield answered(Answer.LATER, "later", arrives=True)

    # One move

    def _moved(
        self,
        world: World,
        number: int,
        move: Move,
        name: str,
        *,
        by: By,
        holder: int | None = NOBODY,
        answer: Answer | None = None,
        worlds: frozenset[str] | set[str] = frozenset(),
    ) -> Step:
        row, table = world.rows[number], self.tables[number]
        facts = set(row.facts)
        taken_away = answer is None and Answer.NONE in move.after and row.status in in_flight(table)
        if (taken_away or answer == Answer.NONE) and self.records_unknown:
            facts.add("unknown")
        if answer == Answer.YES:
            facts.discard("unknown")
        if answer == Answer.NO and "open" in facts:
            facts.discard("open")
        facts = {fact for fact in facts if move.sets.get(fact, True)} | {f for f, value in move.sets.items() if value}
        facts.discard("spent")
        fresh = move.sets.get("spent") is False
        attempts = 0 if fresh or (is_leased(table) and by == By.HOLDER) else row.attempts + move.counts
        again = table.kinds.get(row.status) == Kind.DONE and by == By.OPERATOR
        decided = by == By.OPERATOR and bool(row.facts & {"open", "unknown"})
        changed = world.with_row(
            number,
            status=move.target,
            holder=holder,
            is_lapsed=False,
            attempts=min(attempts, LIMIT + 1),
            facts=frozenset(facts),
            is_there=move.is_done_outside
            or (row.is_there and not again and not (by == By.PROVIDER and answer == Answer.NO)),
            was_unknown="unknown" in facts or row.was_unknown,
            was_decided=row.was_decided or decided,
        )
        return Step(name, changed, frozenset(worlds), self._breach(row, changed.rows[number], table, move, by))

    def _breach(self, before: Row, after: Row, table: Lifecycle, move: Move, by: By) -> str:
        if table.kinds.get(before.status) == Kind.DONE != table.kinds.get(after.status) and by != By.OPERATOR:
            return "a row leaves its end"
        if after.attempts < before.attempts and by in {By.SWEEP, By.PROVIDER}:
            return "a count goes down"
        if after.attempts > LIMIT:
            return "a row is tried too often"
        return twice(before, table) if move.is_done_outside else ""

    # What holds

    def _allows(self, world: World, number: int, move: Move) -> bool:
        return not move.when or any(holds(world.rows[number], facts) for facts in move.when)

    def _beside(self, world: World, number: int, move: Move) -> bool:
        others = {relation: self.relations.get((number, relation)) for relation in move.beside}
        states = {relation: world.rows[other].status for relation, other in others.items() if other is not None}
        return all(states[name] in (*move.beside[name], UNBORN) for name in states)

    def _certain(self, number: int, move: Move) -> frozenset[str]:
        """Return the worlds in which another row makes it without luck: a row that is not searched may never do so."""
        relations = {*move.beside, *move.joint}
        return BOTH if all((number, name) in self.relations for name in relations) else frozenset()

    def _is_alone(self, world: World, number: int, move: Move) -> bool:
        table = self.tables[number]
        return all(
            row.status != move.target
            for other, row in enumerate(world.rows)
            if other != number and self.tables[other] is table
        )

    def _without(self, world: World, number: int) -> World:
        row = world.workers[number].row
        if world.rows[row].holder == number:
            world = world.with_row(row, holder=DEAD)
        return world.with_worker(number, Worker())


def holds(row: Row, facts: Facts) -> bool:
    return all(
        (row.attempts >= LIMIT if fact == "spent" else fact in row.facts) == value for fact, value in facts.items()
    )


@cache
def sending(table: Lifecycle) -> dict[str, tuple[Facts, ...]]:
    return {move.target: move.sends for move in table.moves.values() if move.sends}


@cache
def held_state(table: Lifecycle) -> str:
    return next((move.target for move in table.moves.values() if move.claim == Claim.TAKES), "")


@cache
def outside_facts(table: Lifecycle) -> frozenset[str]:
    """Return the facts that no move makes: they may become true at any time."""
    moves = table.moves.values()
    asked = {fact for move in moves for facts in move.when for fact, value in facts.items() if value}
    return frozenset(asked - {"spent", "unknown", "open"} - {fact for move in moves for fact in move.sets})


@cache
def in_flight(table: Lifecycle) -> frozenset[str]:
    """Return the states in which the outside world may have a row, and has not said so."""
    later = {move.target for move in table.moves.values() if Answer.LATER in move.after}
    return frozenset({*sending(table), *later})


@cache
def is_leased(table: Lifecycle) -> bool:
    """Tell whether a claim on a job is no move of its own."""
    return bool(table.kinds) and not held_state(table)


def waits(row: Row, table: Lifecycle) -> bool:
    """Tell whether a row waits for a person."""
    return row.status in table.with_people and holds(row, table.with_people[row.status])


def twice(row: Row, table: Lifecycle) -> str:
    if not row.is_there:
        return ""
    if not row.was_unknown:
        return "sent twice, and it was not shown as unknown"
    return "" if table.known_by or row.was_decided else "sent twice, and nobody allowed it"


def fits(phase: str, row: Row, move: Move) -> bool:
    """Tell whether a holder in this phase makes the move: what was not sent is like what was refused."""
    is_unsent = phase == HOLDS and "open" not in row.facts
    return phase in move.after or (is_unsent and (not move.after or Answer.NO in move.after))


class Breach(NamedTuple):
    what: str
    way: tuple[str, ...]


class Result(NamedTuple):
    worlds: int
    breaches: tuple[Breach, ...]


def search(system: System, *, until: str = "") -> Result:
    """Look at every reachable world, or until this breach; return how many there are, and the first of each kind."""
    first = system.first()
    came_from: dict[World, tuple[World, str] | None] = {first: None}
    queue: list[World] = [first]
    breaches: dict[str, Breach] = {}
    steps_of: dict[World, list[Step]] = {}
    for world in queue:
        if until in breaches:
            return Result(len(queue), tuple(breaches.values()))
        steps_of[world] = [step._replace(world=alike(step.world)) for step in system.steps(world)]
        for step in steps_of[world]:
            if step.breach:
                breaches.setdefault(step.breach, Breach(step.breach, (*way(came_from, world), step.name)))
            elif what := system.crowd(step.world):
                breaches.setdefault(what, Breach(what, (*way(came_from, world), step.name)))
            elif step.world not in came_from:
                came_from[step.world] = (world, step.name)
                queue.append(step.world)
    for luck in (DEADLY, SILENT):
        if stuck := never_ends(system, steps_of, luck):
            what = f"a row never ends when {luck}"
            breaches[what] = Breach(what, way(came_from, stuck))
    return Result(len(queue), tuple(breaches.values()))


def way(came_from: Mapping[World, tuple[World, str] | None], world: World) -> tuple[str, ...]:
    names: list[str] = []
    while step := came_from[world]:
        world, name = step
        names.append(name)
    return tuple(reversed(names))


def never_ends(system: System, steps_of: Mapping[World, list[Step]], luck: str) -> World | None:
    """Return a world from which rows do not all come to rest without luck: at an end, or where a person sees them."""

    def rests(world: World) -> bool:
        return all(
            row.status == UNBORN
            or not table.kinds
            or table.kinds[row.status] in {Kind.DONE, Kind.FAILED}
            or waits(row, table)
            for row, table in zip(world.rows, system.tables, strict=True)
        )

    before: dict[World, list[World]] = {}
    for world, steps in steps_of.items():
        for step in steps:
            if luck in step.worlds and not step.breach:
                before.setdefault(step.world, []).append(world)
    good = {world for world in steps_of if rests(world)}
    queue = list(good)
    for world in queue:
        new = [earlier for earlier in before.get(world, []) if earlier not in good]
        good.update(new)
        queue += dict.fromkeys(new)
    return next((world for world in steps_of if world not in good), None)
