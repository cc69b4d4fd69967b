"""Transition tables as plain data: the one place where a queue's arrows are listed.

The guard, the database triggers, the operator's buttons, the API's refusals and the diagrams all read these.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

Edge = tuple[str, str]


@dataclass(frozen=True)
class Move:
    """One verb: the states it may start from, and the one it ends in."""

    sources: tuple[str, ...]
    target: str

    def edges(self) -> frozenset[Edge]:
        """Return the arrows of this verb that change the state."""
        return frozenset((source, self.target) for source in self.sources if source != self.target)


def move(*sources: str, to: str) -> Move:
    """Describe a verb, as in `claim=move(QUEUED, RETRY, to=PROCESSING)`."""
    return Move(sources=tuple(str(source) for source in sources), target=str(to))


@dataclass(frozen=True)
class Lifecycle:
    """A queue's states, where rows are born, and the verbs that move them."""

    queue: str
    states: tuple[str, ...]
    initial: tuple[str, ...]
    moves: Mapping[str, Move] = field(hash=False)

    def __init__(self, queue: str, *, states: Iterable[str], initial: Iterable[str], moves: Mapping[str, Move]) -> None:
        """Check that the table is whole: no unknown state, and none that cannot be reached."""
        object.__setattr__(self, "queue", queue)
        object.__setattr__(self, "states", tuple(str(state) for state in states))
        object.__setattr__(self, "initial", tuple(str(state) for state in initial))
        object.__setattr__(self, "moves", MappingProxyType(dict(moves)))
        self._refuse_mistakes()

    def edges(self) -> frozenset[Edge]:
        """Return every arrow between two different states."""
        return frozenset().union(*(move.edges() for move in self.moves.values()))

    def terminal(self) -> frozenset[str]:
        """Return the states that no verb leaves."""
        return frozenset(self.states) - {source for source, _ in self.edges()}

    def verbs_from(self, state: str) -> tuple[str, ...]:
        """Return the verbs that apply to a row in this state, in the order of the table."""
        return tuple(verb for verb, move in self.moves.items() if state in move.sources)

    def path_to(self, state: str) -> tuple[str, ...]:
        """Return a shortest list of verbs that brings a new row into a state."""
        paths: dict[str, tuple[str, ...]] = dict.fromkeys(self.initial, ())
        waiting = list(self.initial)
        while waiting:
            here = waiting.pop(0)
            for verb in self.verbs_from(here):
                there = self.moves[verb].target
                if there not in paths:
                    paths[there] = (*paths[here], verb)
                    waiting.append(there)
        return paths[state]

    def mermaid(self) -> str:
        """Draw the table as a mermaid state diagram."""
        names: dict[Edge, list[str]] = {}
        for verb, move in self.moves.items():
            for source in move.sources:
                names.setdefault((source, move.target), []).append(verb)
        lines = ["stateDiagram-v2"]
        lines += [f"    [*] --> {state}" for state in self.initial]
        lines += [f"    {a} --> {b} : {', '.join(verbs)}" for (a, b), verbs in names.items()]
        lines += [f"    {state} --> [*]" for state in self.states if state in self.terminal()]
        return "\n".join(lines)

    def _refuse_mistakes(self) -> None:
        known = set(self.states)
        named = {*self.initial, *(s for m in self.moves.values() for s in (*m.sources, m.target))}
        if unknown := sorted(named - known):
            raise ValueError(f"{self.queue}: not among the states: {', '.join(unknown)}")
        if not self.initial:
            raise ValueError(f"{self.queue}: no state to be born in")
        reached = set(self.initial)
        edges = self.edges()
        while grown := {target for source, target in edges if source in reached} - reached:
            reached |= grown
        if lost := [state for state in self.states if state not in reached]:
            raise ValueError(f"{self.queue}: no arrow leads to {', '.join(lost)}")
