"""Lifecycle tables: each queue lists its arrows once, in its `states.py`, as plain data.

    JOBS = Lifecycle(
        "job",
        states=JobState,
        initial=[JobState.NEW],
        waiting=[JobState.NEW, JobState.RETRY],
        held=[JobState.RUNNING],
        done=[JobState.DONE],
        failed=[JobState.FAILED],
        moves={
            "claim": move(JobState.NEW, JobState.RETRY, to=JobState.RUNNING, by=By.HOLDER, claim=Claim.TAKES),
            …
        },
    )

The guard, the database triggers, the operators' buttons, the API's 409, the diagrams and the audit all read this table.
So does the model that searches all that can happen to a job (tests/support/model): who makes a move, what it does
with the claim and what it knows of the outside world stand beside the arrow.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Edge = tuple[str, str]
Facts = Mapping[str, bool]


ALWAYS: tuple[Facts, ...] = ({},)


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


class By(StrEnum):
    """Who makes a move."""

    HOLDER = "holder"  # whoever claims the row, or has claimed it
    SWEEP = "sweep"  # a scheduled task
    OPERATOR = "operator"  # a person, or the program of one
    PROVIDER = "provider"  # its verdict, which comes after its answer
    ROW = "row"  # what becomes of another row


class Claim(StrEnum):
    """What a move does with the claim of the holder who makes it."""

    TAKES = "takes"
    NEEDS = "needs"  # and keeps it
    ENDS = "ends"


class Answer(StrEnum):
    """What the outside world said to what was sent."""

    YES = "yes"
    NO = "no"
    LATER = "later"  # it has it, and gives its verdict later
    NONE = "none"  # it may have it: the row shows that this is unknown


@dataclass(frozen=True)
class Move:
    """An arrow for each source, and what is true of all of them.

    `after` are the answers of the outside world that it is made after. `when` are facts of the row, of which one set
    must hold; `sets` are facts that it changes. `beside` are the states in which a row of a relation must be, and
    `joint` a move of that row in the same transaction.
    """

    sources: tuple[str, ...]
    target: str
    by: frozenset[By]
    claim: Claim | None = None
    sends: tuple[Facts, ...] = ()  # in the target state the holder sends to the outside world, if one of these holds
    counts: bool = False  # an attempt
    after: frozenset[Answer] = frozenset()
    when: tuple[Facts, ...] = ()
    sets: Facts = field(default_factory=dict)
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    joint: Mapping[str, str] = field(default_factory=dict)
    is_done_outside: bool = False  # a person has done what is otherwise sent
    alone: bool = False  # no other row of the queue is in the target state

    def edges(self) -> frozenset[Edge]:
        """A state has no arrow to itself."""
        return frozenset((source, self.target) for source in self.sources if source != self.target)


def move(
    *sources: str, to: str, by: By | Collection[By], after: Answer | Collection[Answer] = (), **options: Any
) -> Move:
    makers = {by} if isinstance(by, By) else by
    answers = {after} if isinstance(after, Answer) else after
    places = tuple(str(source) for source in sources)
    return Move(sources=places, target=str(to), by=frozenset(makers), after=frozenset(answers), **options)


def report(*sources: str, to: str, after: Answer | Collection[Answer] = (), **options: Any) -> Move:
    """Return a move by which a holder ends its claim."""
    return move(*sources, to=to, after=after, **{"by": By.HOLDER, "claim": Claim.ENDS, **options})


def attempt_moves(*waiting: str, held: str, failed: str) -> dict[str, Move]:
    """Return the moves of attempts (kilit.lock.attempts); rows that wait to be tried again are in the last state."""
    new, again = waiting[0], waiting[-1]
    unsent, left, spent = (Answer.NO, Answer.NONE), ({"spent": False},), ({"spent": True},)
    claim = move(*waiting, to=held, by=By.HOLDER, claim=Claim.TAKES, sends=ALWAYS, counts=True, when=left)
    return {
        "claim": claim,
        # The attempt failed; the row waits as its schedule says.
        "retry_later": report(held, to=again, after=unsent, when=left),
        # It was the last attempt, also of a worker that died.
        "fail": report(held, to=failed, by={By.HOLDER, By.SWEEP}, after=unsent, when=spent),
        # The worker died or hangs, and the row may have been sent.
        "recover": move(held, to=again, by=By.SWEEP, after=Answer.NONE, when=left),
        # An operator gives the row all attempts again, or ends it.
        "retry": move(failed, to=new, by=By.OPERATOR, sets={"spent": False}),
        "mark_failed": move(*waiting, to=failed, by=By.OPERATOR),
    }


class Lifecycle:
    """A queue's states, those that new rows may have, and the verbs that move rows.

    `by_hand` are the verbs by which a person ends a job, with the error code that they write: no problem, and in no
    error rate. `known_by` is the key by which the outside world recognises what it is sent twice; without one, nothing
    is sent again before a person has decided it. `with_people` are the facts by which rows of a state wait for a
    person, and no worker takes them. What is no queue of jobs has no kinds of states. `labels` are what
    people call the states, unless it is what all of the kind are called.
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
        known_by: str = "",
        with_people: Any = MappingProxyType({}),
        labels: "Mapping[Any, StrOrPromise]" = MappingProxyType({}),
    ) -> None:
        self.queue, self.by_hand, self.known_by = queue, by_hand, known_by
        self.with_people: Mapping[str, Facts] = {str(state): facts for state, facts in with_people.items()}
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
