"""The states of a job as a diagram, and those on its way as a row of steps."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise

from kilit.lock.models import Event
from kilit.lock.table import Kind, Lifecycle

WIDTH, BOX_WIDTH, BOX_HEIGHT, STEP = 340, 148, 32, 52
MARGIN = 8
MOST_STATES = 12  # of a job's history: the last
LOOKS = ("other", "walked", "next")  # of arrows
NEAREST, FARTHEST = 24, 84  # how far an arrow swings out, by how many states it passes


@dataclass(frozen=True)
class Node:
    state: str
    label: StrOrPromise  # what people call it
    x: int
    y: int
    look: str  # here, been or ahead

    width, height = BOX_WIDTH, BOX_HEIGHT

    @property
    def middle(self) -> tuple[int, int]:
        return self.x + BOX_WIDTH // 2, self.y + BOX_HEIGHT // 2


@dataclass(frozen=True)
class Arrow:
    source: str
    target: str
    title: str
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
        """Return the states on the way to success, and those where the job has been, but for where it got stuck."""
        stuck = self.table.of_kind(Kind.FAILED)
        return [node for node in self.nodes if node.state not in stuck and (node.look != "ahead" or node.state in way)]

    @property
    def beside(self) -> list[Node]:
        """Return where the job got stuck: no step of the way."""
        return [node for node in self.nodes if node.look != "ahead" and node.state in self.table.of_kind(Kind.FAILED)]

    @property
    def title(self) -> str:
        return _("State diagram. Current state: %(state)s") % {"state": self.table.labels[self.state]}

    @property
    def description(self) -> str:
        been = _("Last states: %(states)s.") % {"states": " → ".join(self.history)}
        if not self.onward:
            return " ".join([been, _("No further moves are possible.")])
        states = self.table.words(arrow.target for arrow in self.onward)
        return " ".join([been, _("Possible next states: %(states)s.") % {"states": states}])


def draw(table: Lifecycle, state: str, timeline: Iterable[Event]) -> Diagram:
    labels = table.labels
    moves = [event for event in timeline if event.from_state != event.to_state]
    steps = {(event.from_state, event.to_state) for event in moves}
    been = {state, *(name for step in steps for name in step)}
    row_of = {name: row for row, name in enumerate(table.states)}
    nodes = [
        Node(
            name,
            labels[name],
            x=(WIDTH - BOX_WIDTH) // 2,
            y=MARGIN + row * STEP,
            look="here" if name == state else "been" if name in been else "ahead",
        )
        for name, row in row_of.items()
    ]
    edges = sorted(table.edges(), key=lambda edge: (row_of[edge[0]], row_of[edge[1]]))
    arrows = [
        Arrow(
            source,
            target,
            f"{labels[source]} → {labels[target]}",
            _path(row_of[source], row_of[target]),
            "next" if source == state else "walked" if (source, target) in steps else "other",
        )
        for source, target in edges
    ]
    # What matters most is drawn last, over the rest.
    arrows.sort(key=lambda arrow: LOOKS.index(arrow.look))
    history = [event.to_state for event in moves] or [state]
    return Diagram(table, state, nodes, arrows, [str(labels.get(name, name)) for name in history[-MOST_STATES:]])


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
