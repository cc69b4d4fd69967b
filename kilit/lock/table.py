"""Lifecycle tables: each queue lists its arrows once, in its `states.py`, as plain data.

    JOBS = Lifecycle(
        "job",
        states=JobState,
        initial=[JobState.NEW],
        waiting=[JobState.NEW, JobState.RETRY],
        held=[JobState.RUNNING],
        done=[JobState.DONE],
        failed=[JobState.FAILED],
        moves={"claim": move(JobState.NEW, JobState.RETRY, to=JobState.RUNNING), …},
    )

The guard, the database triggers, the operators' buttons, the API's 409 and the diagrams all read this table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Edge = tuple[str, str]


class Kind(StrEnum):
    """What a state means for a job."""

    WAITING = "waiting"  # for a worker, or for its time
    HELD = "held"  # somebody works on it
    DONE = "done"
    FAILED = "failed"  # it rests until a person acts


LABELS = {
    Kind.WAITING: _("Waiting"),
    Kind.HELD: _("In progress"),
    Kind.DONE: _("Done"),
    Kind.FAILED: _("Failed"),
}


@dataclass(frozen=True)
class Move:
    sources: tuple[str, ...]
    target: str

    def edges(self) -> frozenset[Edge]:
        """A state has no arrow to itself."""
        return frozenset((source, self.target) for source in self.sources if source != self.target)


def move(*sources: str, to: str) -> Move:
    return Move(sources=tuple(str(source) for source in sources), target=str(to))


class Lifecycle:
    """A queue's states, those that new rows may have, and the verbs that move rows.

    `by_hand` are the verbs by which a person ends a job, with the error code that they write: no problem, and in no
    error rate. What is no queue of jobs has no kinds of states. `labels` are what people call the states, unless it is
    what all of the kind are called.
    """

    def __init__(
        self,
        queue: str,
        *,
        states: Iterable[str],
        initial: Iterable[str],
        moves: Mapping[str, Move],
        waiting: Iterable[str] = (),
        held: Iterable[str] = (),
        done: Iterable[str] = (),
        failed: Iterable[str] = (),
        by_hand: Mapping[str, str] = MappingProxyType({}),
        labels: "Mapping[Any, StrOrPromise]" = MappingProxyType({}),
    ) -> None:
        self.queue, self.by_hand = queue, by_hand
        self.choices: Any = states  # where they are declared and explained
        self.states, self.initial = tuple(map(str, states)), tuple(map(str, initial))
        self.moves: Mapping[str, Move] = MappingProxyType(dict(moves))
        sets = {Kind.WAITING: waiting, Kind.HELD: held, Kind.DONE: done, Kind.FAILED: failed}
        kinds = [(str(state), kind) for kind, of_kind in sets.items() for state in of_kind]
        self.kinds: Mapping[str, Kind] = MappingProxyType(dict(kinds))
        if kinds and sorted(state for state, _kind in kinds) != sorted(self.states):
            raise ValueError(f"{queue}: each state must have one kind")
        by_kind = {state: LABELS[self.kinds[state]] if self.kinds else state for state in self.states}
        self.labels: Mapping[str, StrOrPromise] = MappingProxyType({**by_kind, **labels})
        self._check()

    def words(self, states: Iterable[str]) -> str:
        """Return what people call some states, in one piece of text."""
        return ", ".join(str(self.labels[state]) for state in states)

    def of_kind(self, *kinds: Kind) -> tuple[str, ...]:
        return tuple(state for state in self.states if self.kinds.get(state) in kinds)

    def edges(self) -> frozenset[Edge]:
        return frozenset().union(*(move.edges() for move in self.moves.values()))

    def terminal(self) -> frozenset[str]:
        return frozenset(self.states) - {source for source, _ in self.edges()}

    def verbs_from(self, state: str) -> tuple[str, ...]:
        return tuple(verb for verb, move in self.moves.items() if state in move.sources)

    def mermaid(self) -> str:
        names: dict[Edge, list[str]] = {}
        for verb, move in self.moves.items():
            for source in move.sources:
                names.setdefault((source, move.target), []).append(verb)
        lines = ["stateDiagram-v2"]
        lines += [f"    [*] --> {state}" for state in self.initial]
        lines += [f"    {a} --> {b} : {', '.join(verbs)}" for (a, b), verbs in names.items()]
        lines += [f"    {state} --> [*]" for state in self.states if state in self.terminal()]
        return "\n".join(lines)

    def paths(self) -> dict[str, tuple[str, ...]]:
        """Return for each state a shortest list of verbs that moves a new row to it."""
        paths: dict[str, tuple[str, ...]] = dict.fromkeys(self.initial, ())
        waiting = list(self.initial)
        while waiting:
            here = waiting.pop(0)
            for verb in self.verbs_from(here):
                there = self.moves[verb].target
                if there not in paths:
                    paths[there] = (*paths[here], verb)
                    waiting.append(there)
        return paths

    def _check(self) -> None:
        named = {*self.initial, *(s for m in self.moves.values() for s in (*m.sources, m.target))}
        if unknown := sorted(named - set(self.states)):
            raise ValueError(f"{self.queue}: unknown states: {', '.join(unknown)}")
        if not self.initial:
            raise ValueError(f"{self.queue}: no initial state")
        if lost := [state for state in self.states if state not in self.paths()]:
            raise ValueError(f"{self.queue}: no arrow leads to {', '.join(lost)}")
