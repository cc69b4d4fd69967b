"""The page of one job: its name and state, the error and what to do, the timeline, and facts at the side."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from django import forms
from django.contrib.admin.utils import display_for_field, flatten, label_for_field, lookup_field
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin

from kilit.batches.error_entries import TRY_AGAIN, ErrorEntry
from kilit.console.formatting import link, page
from kilit.console.jobs.diagram import draw
from kilit.console.jobs.states import States, priority_badge
from kilit.console.jobs.timeline import Story
from kilit.console.lists.acting import LIST_FILTERS, back_address
from kilit.console.lists.actions import Action
from kilit.lock.models import Event
from kilit.lock.priorities import Priority
from kilit.problems.blockers import Blocker, reasons_by_kind
from kilit.problems.links import row_path

EMPTY: Any = (None, "", "-", [], {}, ())
STEPS_SHOWN = 20  # of the timeline; the older ones are folded


@dataclass(frozen=True)
class JobOffer:
    """Something to click on a job's page: a verb done at once, a form on the page itself, or else a page."""

    title: StrOrPromise
    href: str
    is_done_at_once: bool = False
    is_dangerous: bool = False
    form: forms.Form | None = None  # the primary's is shown where the page says what to do
    is_answer: bool = False  # one of several to a question, of equal rank: shown where the page asks it


Offers = Mapping[str, JobOffer]  # by name
RowStep = Callable[[Any, Offers, User | AnonymousUser], JobOffer | None]


class Fact(NamedTuple):
    label: str
    value: Any
    copied: str = ""  # what a button copies


class ShownError(NamedTuple):
    code: str
    words: str
    turn: StrOrPromise
    message: str


@dataclass(frozen=True, kw_only=True)
class JobDescription:
    """How a queue shows a job: the one place where it says so. What it leaves out is the same for all queues."""

    states: States | None = None
    story: Story = field(default_factory=Story)
    name: Callable[[Any], str] = str  # what people call a row
    id_of: Callable[[Any], str] = lambda row: str(row.pk)
    belongs_to: Callable[[Any], Any] = lambda _row: ""  # a site, a customer
    state_notes: Callable[[Any], Any] = lambda _row: ""  # badges beside the state
    blockers: Callable[[Any, list[Event]], Iterable[Blocker]] = reasons_by_kind
    # What the row holds, or what holds it, each with a label.
    holdings: Callable[[Any], list[tuple[str, Any]]] = lambda _row: []
    is_message_hidden: bool = False  # of an error that has an entry: the message says the same
    # What else the user may do with the row, besides the actions of the list that apply.
    offers: Callable[[Any, Offers, User | AnonymousUser], Offers] = lambda _row, offers, _user: offers
    # The ways on that entries of errors name, besides the offers; each returns one if it is possible now.
    steps: Mapping[str, RowStep] = field(default_factory=dict)
    # The one offer that stands out, where no error says so; by default the first that is done at once.
    choose_primary: Callable[[Any, Offers], JobOffer | None] = lambda _row, _offers: None
    copied_fields: Mapping[str, str] = field(default_factory=dict)  # and the attribute that is copied
    priority_states: Collection[str] = ()  # in which operators may change the priority
    more_template: str = ""  # what else the page shows, below the timeline
    wide_template: str = ""  # below all of it, as wide as the page
    context: Callable[[HttpRequest, Any], dict[str, Any]] = lambda _request, _row: {}  # for these templates


def job_page(model_admin: ModelAdmin, request: HttpRequest, row: Any) -> HttpResponse:
    job: JobDescription = model_admin.page
    offers = offers_for(model_admin, request, row)
    primary = choose_primary(model_admin, request, row, offers)
    name, filters = job.name(row), request.GET.get(LIST_FILTERS, "")
    context = {
        "name": name,
        "original": row,
        "primary": primary,
        "answers": [offer for offer in offers.values() if offer.is_answer],
        "offers": [offer for offer in offers.values() if offer is not primary and not offer.is_answer],
        "filters": filters,
        "list_href": back_address(model_admin, [], filters=filters),
        "facts": list(_sections(model_admin, request, row)),
        "more_template": job.more_template,
        "wide_template": job.wide_template,
        "crumb_names_row": True,
        **(_priority_context(model_admin, request, row) if job.priority_states else {}),
        **_story_of(model_admin, row),
        **job.context(request, row),
    }
    return page(model_admin, request, "admin/console/job.html", title=name, **context)


def _priority_context(model_admin: ModelAdmin, request: HttpRequest, row: Any) -> dict[str, object]:
    is_waiting = row.status in model_admin.page.priority_states
    may_change = is_waiting and model_admin.has_operate_permission(request, row)
    return {
        "priority": Priority(row.priority),
        "priority_badge": priority_badge(row),
        "priorities": sorted(Priority, reverse=True) if may_change else [],
        "priority_href": model_admin.address("priority", row.pk),
    }


def _story_of(model_admin: ModelAdmin, row: Any) -> dict[str, Any]:
    job, states, events = model_admin.page, model_admin.states, Event.objects.history(row)
    diagram = draw(model_admin.queue.table, row.status, events)
    steps = job.story.steps(events, model_admin.failures, states.labels)
    return {
        "id": job.id_of(row),
        "about": job.belongs_to(row),
        "state": states.badge(row.status),
        "state_notes": job.state_notes(row),
        "timeline": steps[:STEPS_SHOWN],
        "older": steps[STEPS_SHOWN:],
        "diagram": diagram,
        "stepper": diagram.stepper(states.way),
        "beside": [(node, states.colours[node.state]) for node in diagram.beside],
        "blockers": list(job.blockers(row, events)),
        "error": _error(model_admin, row),
        "holdings": [(label, value) for label, value in job.holdings(row) if value],
    }


def offers_for(model_admin: ModelAdmin, request: HttpRequest, row: Any) -> Offers:
    """Return what the user may do with the row now, by name; nothing that would be refused."""
    if not model_admin.has_operate_permission(request, row):
        return {}
    entry = entry_of(model_admin, row)
    offers = {action.name: _offer(model_admin, request, action, row) for action in useful_actions(model_admin, row)}
    all_offers: Offers = model_admin.page.offers(row, offers, request.user)
    if not entry or not entry.is_question:
        return all_offers
    return {name: replace(offer, is_answer=name in entry.row) for name, offer in all_offers.items()}


def useful_actions(model_admin: ModelAdmin, row: Any) -> list[Action]:
    """Return the actions that would change a row, and may help it."""
    entry = entry_of(model_admin, row)
    useless = TRY_AGAIN if entry and entry.is_final else ()
    return [action for action in model_admin.actions if action.name not in useless and action.applies_to(row)]


def entry_of(model_admin: ModelAdmin, row: Any) -> ErrorEntry | None:
    failures = model_admin.failures
    has_error = row.status in failures.states and getattr(row, failures.code)
    return model_admin.queue.entry_of(row) if has_error else None


def choose_primary(model_admin: ModelAdmin, request: HttpRequest, row: Any, offers: Offers) -> JobOffer | None:
    """Return the one offer that stands out: of an error, the first way on that is possible."""
    job: JobDescription = model_admin.page
    entry = entry_of(model_admin, row)
    if entry is None:
        at_once = (offer for offer in offers.values() if offer.is_done_at_once)
        return job.choose_primary(row, offers) or next(at_once, None)
    if entry.is_question or not model_admin.has_operate_permission(request, row):
        return None
    ways = (job.steps[name](row, offers, request.user) if name in job.steps else offers.get(name) for name in entry.row)
    return next(filter(None, ways), None)


def _offer(model_admin: ModelAdmin, request: HttpRequest, action: Action, row: Any) -> JobOffer:
    if action.is_done_at_once:
        return JobOffer(action.title, model_admin.address("act", action.verb), is_done_at_once=True)
    kept = model_admin.get_preserved_filters(request)
    href = model_admin.address(f"{action.name}_row", row.pk) + (f"?{kept}" if kept else "")
    return JobOffer(action.title, href, is_dangerous=action.is_dangerous)


def _error(model_admin: ModelAdmin, row: Any) -> ShownError | None:
    failures, entry = model_admin.failures, entry_of(model_admin, row)
    if entry is None:
        return None
    code = getattr(row, failures.code)
    is_hidden = model_admin.page.is_message_hidden and code in model_admin.queue.errors
    return ShownError(code, entry.label, entry.turn.label, "" if is_hidden else getattr(row, failures.message))


def _sections(model_admin: ModelAdmin, request: HttpRequest, row: Any) -> Iterator[tuple[object, list[Fact]]]:
    failures = model_admin.failures
    above = (failures.code, failures.message) if _error(model_admin, row) else ()
    for title, options in model_admin.get_fieldsets(request, row):
        names = [name for name in flatten(options["fields"]) if getattr(name, "__name__", name) not in above]
        facts = [fact for fact in (_fact(model_admin, name, row) for name in names) if fact.value not in EMPTY]
        if facts:
            yield title, facts


def _fact(model_admin: ModelAdmin, name: Any, row: Any) -> Fact:
    column, _attribute, value = lookup_field(name, row, model_admin)
    if column and column.related_model and value is not None:
        value = link(row_path(value), str(value))
    elif column:
        value = display_for_field(value, column, "-")
    label: Any = label_for_field(name, model_admin.model, model_admin)
    copied = model_admin.page.copied_fields.get(getattr(name, "__name__", name), "")
    return Fact(capfirst(label), value, getattr(row, copied) if copied else "")
