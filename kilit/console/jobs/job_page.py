"""The page of one job: its name and state, the error and what to do, the timeline, and facts at the side."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django import forms
from django.contrib.admin.utils import display_for_field, flatten, label_for_field, lookup_field, unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.text import capfirst

from kilit.console.formatting import link, page
from kilit.console.jobs.blockers import Blocker
from kilit.console.jobs.timeline import Story
from kilit.console.lists.actions import Action
from kilit.console.lists.error_groups import ErrorGroupsAdmin
from kilit.lock.models import Event

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise
from types import MappingProxyType

from django.utils.translation import gettext as _

from kilit.lock.table import Lifecycle

NO_LABELS: Mapping[Any, Any] = MappingProxyType({})
WIDTH, BOX_WIDTH, BOX_HEIGHT, STEP = 340, 148, 32, 52
MARGIN = 8
LOOKS = ("other", "walked", "next")  # of arrows
NEAREST, FARTHEST = 24, 84  # how far an arrow swings out, by how many states it passes
LIST_FILTERS = "_changelist_filters"  # as Django calls them in the address of a row's page
EMPTY: Any = (None, "", "-", [], {}, ())
STEPS_SHOWN = 20  # of the timeline; the older ones are folded


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


@dataclass(frozen=True)
class JobOffer:
    """Something to click on a job's page: a verb done at once, a form on the page itself, or else a page."""

    title: "StrOrPromise"
    icon: str
    href: str
    is_done_at_once: bool = False
    is_dangerous: bool = False
    form: forms.Form | None = None  # the primary's is shown where the page says what to do
    is_answer: bool = False  # one of several to a question, of equal rank: shown where the page asks it


@dataclass(frozen=True)
class Fact:
    label: str
    value: Any
    copied: str = ""  # what a button copies


@dataclass(frozen=True)
class ShownError:
    code: str
    meaning: "StrOrPromise"
    message: str


def first_at_once(_row: object, offers: Mapping[str, JobOffer]) -> JobOffer | None:
    return next((offer for offer in offers.values() if offer.is_done_at_once), None)


@dataclass(frozen=True)
class JobDescription:
    """How a queue's pages describe a row, its states and its events."""

    id_of: Callable[[Any], str] = lambda row: str(row.pk)
    belongs_to: Callable[[Any], Any] = lambda _row: ""  # a site, a customer
    state_labels: Mapping[Any, "StrOrPromise"] = field(default_factory=dict)
    state_notes: Callable[[Any], Any] = lambda _row: ""  # badges beside the state
    way: Collection[str] = ()  # the states from new to success, which the stepper shows
    story: Story = field(default_factory=Story)
    explain_error: Callable[[Any], "StrOrPromise"] = lambda _row: ""
    # The one action that stands out, out of those that apply, by name.
    choose_primary: Callable[[Any, Mapping[str, JobOffer]], JobOffer | None] = first_at_once
    copied_fields: Mapping[str, str] = field(default_factory=dict)  # and the attribute that is copied


class JobPageAdmin(ErrorGroupsAdmin):
    """Each queue declares what its rows are called; the page is the same for all."""

    job_template = "admin/console/job.html"
    more_template = ""  # what else a queue shows, below the timeline
    row_name: Callable[[Any], str] = staticmethod(str)  # what people call a row
    description = JobDescription()
    find_blockers: Callable[[Any, list[Event]], Iterable[Blocker]] = staticmethod(lambda _row, _timeline: ())
    # What the row holds, or what holds it, each with a label.
    find_holdings: Callable[[Any], list[tuple[str, Any]]] = staticmethod(lambda _row: [])

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return super().change_view(request, object_id, *args, **options)
        row = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if row is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        offers = self.offers(request, row)
        primary = self.description.choose_primary(row, offers)
        context = {
            "original": row,
            "primary": primary,
            "answers": [offer for offer in offers.values() if offer.is_answer],
            "offers": [offer for offer in offers.values() if offer is not primary and not offer.is_answer],
            "filters": request.GET.get(LIST_FILTERS, ""),
            "list_href": self.back_address([], filters=request.GET.get(LIST_FILTERS, "")),
            "facts": list(self._sections(request, row)),
            "more_template": self.more_template,
            "crumb_names_row": True,
        }
        name = self.row_name(row)
        context |= self.reader_context(request, row)
        return page(self, request, self.job_template, title=name, name=name, **context, **self.detail_context(row))

    def row_to_change(self, request: HttpRequest, object_id: str) -> Any:
        """Return a row that the user may act on."""
        row = self.get_object(request, unquote(object_id))
        if not self.has_operate_permission(request, object_id):
            raise PermissionDenied
        if row is None:
            raise Http404
        return row

    def reader_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        return {}

    def detail_context(self, row: Any) -> dict[str, Any]:
        """Return the story of a row; a queue adds what its own template shows."""
        events = Event.objects.history(row)
        labels = self.description.state_labels
        diagram = draw(self.queue.table, row.status, events, labels)
        steps = self.description.story.steps(events, self.failures, labels)
        return {
            "id": self.description.id_of(row),
            "about": self.description.belongs_to(row),
            "state": self.state_badge(row.status),
            "state_label": labels.get(row.status, ""),
            "state_notes": self.description.state_notes(row),
            "timeline": steps[:STEPS_SHOWN],
            "older": steps[STEPS_SHOWN:],
            "diagram": diagram,
            "stepper": diagram.stepper(self.description.way),
            "blockers": list(self.find_blockers(row, events)),
            "error": self._error(row),
            "holdings": [(label, value) for label, value in self.find_holdings(row) if value],
        }

    def offers(self, request: HttpRequest, row: Any) -> dict[str, JobOffer]:
        """Return what the user may do with the row now, by name; nothing that would be refused."""
        if not self.has_operate_permission(request, str(row.pk)):
            return {}
        return {
            action.name: self._offer(request, action, row) for action in self.operator_actions if action.applies_to(row)
        }

    def _offer(self, request: HttpRequest, action: Action, row: Any) -> JobOffer:
        if action.is_done_at_once:
            return JobOffer(action.title, action.icon, self.address("act", action.verb), is_done_at_once=True)
        kept = self.get_preserved_filters(request)
        href = self.address(f"{action.name}_row", row.pk) + (f"?{kept}" if kept else "")
        return JobOffer(action.title, action.icon, href, is_dangerous=action.is_dangerous)

    def _error(self, row: Any) -> ShownError | None:
        if row.status not in self.failures.states:
            return None
        code = getattr(row, self.failures.code)
        return (
            ShownError(code, self.description.explain_error(row), getattr(row, self.failures.message)) if code else None
        )

    def _sections(self, request: HttpRequest, row: Any) -> Iterator[tuple[object, list[Fact]]]:
        above = (self.failures.code, self.failures.message) if self._error(row) else ()
        for title, options in self.get_fieldsets(request, row):
            names = [name for name in flatten(options["fields"]) if getattr(name, "__name__", name) not in above]
            facts = [fact for fact in (self._fact(name, row) for name in names) if fact.value not in EMPTY]
            if facts:
                yield title, facts

    def _fact(self, name: Any, row: Any) -> Fact:
        column, _attribute, value = lookup_field(name, row, self)
        if column and column.related_model and value is not None:
            opts = column.related_model._meta
            value = link(reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[value.pk]), str(value))
        elif column:
            value = display_for_field(value, column, "-")
        label: Any = label_for_field(name, self.model, self)
        copied = self.description.copied_fields.get(getattr(name, "__name__", name), "")
        return Fact(capfirst(label), value, getattr(row, copied) if copied else "")

    def back_address(self, ids: list[Any], *, filters: str, from_row: bool = False) -> str:
        """Return the page it was asked from; a row's page keeps the filters of the list it was opened from."""
        if not from_row:
            return self.address("changelist") + (f"?{filters}" if filters else "")
        kept = urlencode({LIST_FILTERS: filters}) if filters else ""
        return self.address("change", ids[0]) + (f"?{kept}" if kept else "")
