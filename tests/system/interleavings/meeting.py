"""Who may meet whom on one row, and what must hold after each order in which they do."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

from django.db.models import Max
from hypothesis import note
from hypothesis.errors import InvalidArgument

from kilit.audit.replay import Fault, breaches_in_span, rows_without_events
from kilit.audit.run import FIRST_ID
from kilit.lock.audit import acting_as
from kilit.lock.guard import LifecycleModel
from kilit.lock.models import Count, Event
from kilit.lock.table import Claim, Lifecycle
from tests.support.interleaving import Order, Outcome, Stage
from tests.support.row_copies import empty_tables
from tests.system.chaos.invariants import sums_add_up

LATE = "worker:late"  # one worker, who has claimed the row at the place where it is met
OPERATOR, SWEEP = "operator:ayse", "sweep:recover"
MOST = 10  # breaches that are named


@dataclass(frozen=True)
class Person:
    """Somebody who acts on a row: a worker, a sweep, an operator, a caller."""

    who: str  # as events name it: worker:…, sweep:…, operator:…
    act: Callable[["World"], Any]
    at: tuple[str, ...]  # the places at which a row may meet it
    refusals: tuple[type[Exception], ...] = ()  # that tell it that another one was faster


@dataclass
class World:
    """One row, what belongs to it, and what was done in the outside world, in its order."""

    row: Any
    others: dict[str, Any] = field(default_factory=dict)
    effects: list[tuple[str, str]] = field(default_factory=list)  # what, and by whom

    def note(self, what: str, by: str = "") -> None:
        self.effects.append((what, by))


@dataclass(frozen=True)
class Queue:
    """A row's queue: the places that a row may be at, made one by one, and those who may come there."""

    name: str
    models: tuple[type[LifecycleModel], ...]  # the row's, and of those that move with it
    places: Mapping[str, Callable[[], World]]
    people: Mapping[str, Person]
    check: Callable[[World], Iterator[str]] = lambda _world: iter(())

    @property
    def table(self) -> Lifecycle:
        return self.models[0].lifecycle

    @cached_property
    def pairs(self) -> tuple["Pair", ...]:
        """Return every two who may come to the same place; one worker does not meet itself."""
        pairs = (Pair(self, *names) for names in combinations_with_replacement(self.people, 2))
        return tuple(pair for pair in pairs if pair.places and not pair.is_one_worker)

    def listed(self) -> str:
        """Return the rows of the documents' table: each of them, and whom it meets on a row."""
        met = {name: [pair for pair in self.pairs if name in (pair.first, pair.second)] for name in self.people}
        others = {
            name: ", ".join(pair.second if pair.first == name else pair.first for pair in pairs)
            for name, pairs in met.items()
        }
        return "\n".join(f"| {self.name} | {name} | {names} |" for name, names in others.items())


class Pair(NamedTuple):
    queue: Queue
    first: str
    second: str

    @property
    def places(self) -> tuple[str, ...]:
        first, second = (self.queue.people[name] for name in (self.first, self.second))
        return tuple(place for place in self.queue.places if place in first.at and place in second.at)

    @property
    def is_one_worker(self) -> bool:
        return all(self.queue.people[name].who == LATE for name in (self.first, self.second))

    def __str__(self) -> str:
        return f"{self.queue.name}: {self.first} + {self.second}"


def meet(stage: Stage, queue: Queue, place: str, names: Sequence[str], order: Order) -> list[str]:
    """Let people meet on one row, and return what is wrong after it, in words."""
    empty_tables()
    with acting_as(LATE):
        world = queue.places[place]()
    people = [queue.people[name] for name in names]
    outcomes = stage.perform([partial(perform, person, world, n) for n, person in enumerate(people)], order)
    breaches = [
        *unlisted(names, people, outcomes),
        *sums_add_up(),
        *wrong_totals(queue.models),
        *audited(queue.models),
        *held_by_others(queue.table),
        *queue.check(world),
    ]
    if breaches:
        said = [f"{names[number]} → {what[:100]}" for number, what in stage.trace]
        with suppress(InvalidArgument):  # outside of a property nothing is noted
            note("\n".join([place, *said, *map(repr, outcomes), *map(str, history(world))]))
    return breaches


def perform(person: Person, world: World, number: int) -> Any:
    with acting_as(person.who if person.who == LATE else f"{person.who}-{number}"):
        return person.act(world)


def history(world: World) -> list[tuple[Any, ...]]:
    return list(
        Event.objects.of(world.row).values_list("actor", "details__verb", "from_state", "to_state", "event_type")
    )


def unlisted(names: Sequence[str], people: Sequence[Person], outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Name what one of them was told that is no refusal: a deadlock, a broken constraint, an error of ours."""
    for name, person, outcome in zip(names, people, outcomes, strict=True):
        if outcome.error and not isinstance(outcome.error, person.refusals):
            yield f"{name}: {type(outcome.error).__name__}: {outcome.error}"


def wrong_totals(models: Sequence[type[LifecycleModel]]) -> Iterator[str]:
    for model in models:
        rows = Counter(model._default_manager.values_list("status", flat=True))
        if (total := Count.objects.by_state(queue=model.lifecycle.queue)) != rows:
            yield f"{model.lifecycle.queue}: {dict(total)} are counted, there are {dict(rows)}"


def audited(models: Sequence[type[LifecycleModel]]) -> Iterator[str]:
    """Hold all events against the tables, as `manage.py audit` does."""
    newest = Event.objects.aggregate(newest=Max("id"))["newest"] or 0
    breaches = breaches_in_span(0, newest, most=MOST, models=models)
    for breach in (*breaches, *rows_without_events(FIRST_ID, most=MOST, models=models)):
        if breach.fault != Fault.OTHER_TIME:  # some rows are stored as if they were old
            yield f"{breach.queue}: {breach.fault} {breach.details}"


def held_by_others(table: Lifecycle) -> Iterator[str]:
    """Name moves under a claim by a worker that another one's claim had followed."""
    holders: dict[Any, str] = {}
    for event in Event.objects.filter(queue=table.queue).order_by("id"):
        move = table.moves.get(event.details.get("verb", ""))
        if move is None:
            continue
        is_report = move.claim in (Claim.NEEDS, Claim.ENDS) and event.actor.startswith("worker:")
        holder = holders.pop(event.object_id, "") if move.claim != Claim.NEEDS else holders.get(event.object_id, "")
        if is_report and holder and holder != event.actor:
            yield f"{event.actor} made {event.details['verb']} under the claim of {holder}"
        if move.claim == Claim.TAKES:
            holders[event.object_id] = event.actor
