"""The states of a job as a diagram, and those on its way as a row of steps."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from kilit.lock.models import Event
from kilit.lock.table import Lifecycle

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

NO_LABELS: Mapping[Any, Any] = MappingProxyType({})
WIDTH, BOX_WIDTH, BOX_HEIGHT, STEP = 340, 148, 32, 52
MARGIN = 8
LOOKS = ("other", "walked", "next")  # of arrows
NEAREST, FARTHEST = 24, 84  # how far an arrow swings out, by how many states it passes


@dataclass(frozen=True)
class Node:
    state: str
    label: "StrOrPromise"  # what people call it, if it has such a name
    x: int
    y: int
    look: str  # here, been or ahead

    width, height = BOX_WIDTH, BOX_HEIGHT

    @property
    def middle(self) -> tuple[int, int]:
        return self.x + BOX_WIDTH // 2, self.y + BOX_HEIGHT // 2

    @property
    def lines(self) -> tuple[int, int]:
        return self.y + BOX_HEIGHT * 2 // 5 - 1, self.y + BOX_HEIGHT * 4 // 5 - 1


@dataclass(frozen=True)
class Arrow:
    source: str
    target: str
    verbs: tuple[str, ...]
    path: str
    look: str  # one of LOOKS


@dataclass(frozen=True)
class Diagram:
    table: Lifecycle
    state: str
    nodes: list[Node]
    arrows: list[Arrow]
    history: list[str]

    width = WIDTH
    looks = LOOKS

    @property
    def height(self) -> int:
        return MARGIN * 2 + STEP * (len(self.nodes) - 1) + BOX_HEIGHT

    @property
    def onward(self) -> list[Arrow]:
        return [arrow for arrow in self.arrows if arrow.look == "next"]

    def stepper(self, way: Collection[str]) -> list[Node]:
        """Return the states on the way to success, and those where the job has been."""
        return [node for node in self.nodes if node.look != "ahead" or not way or node.state in way]

    @property
    def title(self) -> str:
        return _("State diagram. Current state: %(state)s") % {"state": self.state}

    @property
    def description(self) -> str:
        been = _("States so far: %(states)s.") % {"states": " → ".join(self.history)}
        if not self.onward:
            return " ".join([been, _("No further moves are possible.")])
        moves = "; ".join(f"{', '.join(arrow.verbs)} → {arrow.target}" for arrow in self.onward)
        return " ".join([been, _("Possible moves: %(moves)s.") % {"moves": moves}])


def draw(
    table: Lifecycle, state: str, timeline: Iterable[Event], labels: "Mapping[Any, StrOrPromise]" = NO_LABELS
) -> Diagram:
    moves = [event for event in timeline if event.from_state != event.to_state]
    steps = {(event.from_state, event.to_state) for event in moves}
    been = {state, *(name for step in steps for name in step)}
    row_of = {name: row for row, name in enumerate(table.states)}
    nodes = [
        Node(
            name,
            labels.get(name, ""),
            x=(WIDTH - BOX_WIDTH) // 2,
            y=MARGIN + row * STEP,
            look="here" if name == state else "been" if name in been else "ahead",
        )
        for name, row in row_of.items()
    ]
    verbs: dict[tuple[str, str], list[str]] = {}
    for verb, move in table.moves.items():
        for source, target in sorted(move.edges(), key=lambda edge: row_of[edge[0]]):
            verbs.setdefault((source, target), []).append(verb)
    looks = {edge: "next" if edge[0] == state else "walked" if edge in steps else "other" for edge in verbs}
    arrows = [
        Arrow(*edge, tuple(names), _path(row_of[edge[0]], row_of[edge[1]]), looks[edge])
        for edge, names in verbs.items()
    ]
    # What matters most is drawn last, over the rest.
    arrows.sort(key=lambda arrow: LOOKS.index(arrow.look))
    return Diagram(table, state, nodes, arrows, _shortened([event.to_state for event in moves] or [state]))


def _path(source: int, target: int) -> str:
    left, right = (WIDTH - BOX_WIDTH) // 2, (WIDTH + BOX_WIDTH) // 2
    top = MARGIN + BOX_HEIGHT // 2
    if target == source + 1:
        x, y = WIDTH // 2, MARGIN + source * STEP + BOX_HEIGHT
        return f"M {x} {y} V {y + STEP - BOX_HEIGHT - 2}"
    swing = min(FARTHEST, NEAREST + 9 * (abs(target - source) - 1))
    side, out = (right, right + swing) if target > source else (left, left - swing)
    # Arrows leave above the middle and arrive below it, or the other way, so that both ends can be distinguished.
    start, end = top + source * STEP, top + target * STEP
    shift = 5 if target > source else -5
    return f"M {side} {start + shift} C {out} {start + shift}, {out} {end - shift}, {side} {end - shift}"


def _shortened(states: list[str], *, most: int = 12) -> list[str]:
    return states if len(states) <= most else [*states[:2], "…", *states[-(most - 3) :]]
