"""The admin of a queue's rows. What a queue declares here and in its `JobDescription` is all that its console needs."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, cast
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from kilit.batches.queues import Queue
from kilit.console.account.form_pages import back_to_page
from kilit.console.formatting import age, column, error_cell, two_lines
from kilit.console.jobs.job_page import JobDescription, job_page
from kilit.console.jobs.states import States
from kilit.console.lists import acting, bulk_requests
from kilit.console.lists.actions import Action
from kilit.console.lists.confirming import ReasonForm
from kilit.console.lists.error_groups import groups_page
from kilit.console.lists.list_controls import QueueControls
from kilit.console.lists.listing import ListLink, ListPage, ReadOnlyAdmin, RowPage
from kilit.console.menu import MenuItem, MenuTab
from kilit.csv.writer import CHUNK, csv_lines, csv_response
from kilit.lock.audit import actor_in_words
from kilit.lock.failures import Failures
from kilit.lock.models import QueuePause
from kilit.lock.priorities import Priority, change_priority
from kilit.lock.table import Kind


class OldestRow(NamedTuple):
    name: str
    href: str
    since: datetime
    place: str = ""


def export_failed(model_admin: "QueueAdmin", request: HttpRequest) -> HttpResponseBase:
    """Stream the failed rows in the list's filters; a server-side cursor keeps memory the same for any number."""
    table, states = model_admin.queue.table, model_admin.export_states
    listed, state = model_admin.get_changelist_instance(request), request.GET.get("status", "").strip()
    is_rejected = listed.rejected_filters()  # the list shows the message
    if not is_rejected and state and state not in states:
        text = gettext("The export has rows in these states: %(states)s. The list shows another: %(state)s.")
        messages.warning(request, text % {"states": table.words(states), "state": table.labels[state]})
        is_rejected = True
    if is_rejected:
        return HttpResponseRedirect(f"{model_admin.address('changelist')}?{request.GET.urlencode()}")
    rows = model_admin.rows_to_export(listed.get_queryset(request).filter(status__in=states)).order_by("pk")
    masks = {} if model_admin.has_operate_permission(request) else model_admin.export_masks
    fields = model_admin.export_fields.items()
    readers = {name: read if callable(read) else attrgetter(read) for name, read in fields}

    def cells(row: Any) -> list[Any]:
        return [masks[name](read(row)) if name in masks else read(row) for name, read in readers.items()]

    return csv_response("dead-letters", csv_lines(tuple(readers), map(cells, rows.iterator(chunk_size=CHUNK))))


def pause_queue(model_admin: "QueueAdmin", request: HttpRequest) -> HttpResponse:
    help_text = _("Shown to everyone who asks why jobs wait, with your name.")
    form = ReasonForm(request.POST or None, help_text=help_text, most=200)
    if not form.is_valid():
        title, sentences = model_admin.pause_title, [model_admin.pause_effect]
        return model_admin.confirm(request, title=title, sentences=sentences, form=form, submit=_("Pause"))
    if QueuePause.objects.pause(model_admin.queue.table, reason=form.cleaned_data["reason"]):
        messages.success(request, _("The queue is paused."))
    else:
        messages.info(request, _("The queue was paused already."))
    return HttpResponseRedirect(model_admin.address("changelist"))


def resume_queue(model_admin: "QueueAdmin", request: HttpRequest) -> HttpResponse:
    if request.method == "POST":  # logging in again leads here without the form
        if QueuePause.objects.resume(model_admin.queue.table):
            messages.success(request, _("The queue is resumed."))
        else:
            messages.info(request, _("The queue was not paused."))
    return back_to_page(request, model_admin.address("changelist"))


PAUSE_PAGES = {
    "pause_queue": ListPage(pause_queue, permission="pause", route="pause"),
    "resume_queue": ListPage(resume_queue, permission="pause", route="resume"),
}


def set_priority(model_admin: "QueueAdmin", request: HttpRequest, row: Any) -> HttpResponse:
    if request.method == "POST":  # logging in again leads here without the form
        priority = Priority.__members__.get(request.POST.get("priority", "").upper())
        if priority is None:
            messages.error(request, _("Choose a priority."))
        elif change_priority(row, priority, waiting=model_admin.page.priority_states):
            messages.success(request, _("The priority is now %(priority)s.") % {"priority": priority.label})
        else:
            messages.warning(request, _("Nothing was changed: the job has this priority, or it no longer waits."))
    return acting.back_to_row(model_admin, request, row)


def admin_of(queue: Queue) -> "QueueAdmin":
    return cast("QueueAdmin", admin.site.get_model_admin(queue.model))


class QueueAdmin(ReadOnlyAdmin):
    queue: Queue
    menu: MenuItem | MenuTab
    page = JobDescription()
    actions: Sequence[Action] = ()  # in the order in which they are offered
    most_acted_on = 500
    scope_filter = ""  # the filter by what counts are kept for, such as sites
    # Of a queue that can be paused: its claim reads `is_not_paused`.
    pause_title: StrOrPromise = ""  # a question
    pause_effect: StrOrPromise = ""
    # Each column of the file of failed rows, with the attribute or function of a row that fills it.
    export_fields: Mapping[str, str | Callable[[Any], Any]] = {}
    export_states: Sequence[str] = ()  # those of the kind FAILED, unless it says otherwise
    # Columns with personal data, and how they are masked for viewers; operators need them to correct rows.
    export_masks: Mapping[str, Callable[[str], str]] = {}
    list_pages: Mapping[str, ListPage] = {
        "act": ListPage(acting.act, permission="operate", route="act/<str:verb>"),
        "undo": ListPage(acting.take_back, permission="operate", route="undo/<str:verb>"),
        "act_on_all": ListPage(bulk_requests.act_on_all, permission="operate", route="all/<str:name>"),
        "error_groups": ListPage(groups_page, _("Error groups"), route="groups"),
        "dead_letters": ListPage(export_failed, _("Export failed (CSV)"), keeps_filters=True),
    }
    # Of a queue that has a strip on the dashboard: since when its `oldest_row` waits, and what to know of its chart.
    oldest_means: StrOrPromise = ""
    chart_note: StrOrPromise = ""

    list_display: Sequence[Any] = ("name", "state", "error", "age")
    controls_class = QueueControls

    def __init__(self, *args: Any) -> None:
        self.filters = self.queue.filters
        self.states = self.page.states or States(self.queue.table)
        self.export_states = self.export_states or self.queue.table.of_kind(Kind.FAILED)
        columns = self._columns()
        self.list_display = [columns[each] if isinstance(each, str) else each for each in self.list_display]
        self.row_pages = {
            **{f"{action.name}_row": self._page_of(action) for action in self.actions},
            **({"priority": RowPage(set_priority, "operate")} if self.page.priority_states else {}),
            **self.row_pages,
        }
        if self.pause_title:
            self.list_pages = {**self.list_pages, **PAUSE_PAGES}
        super().__init__(*args)

    @property
    def failures(self) -> Failures:
        return self.queue.failures

    @staticmethod
    def _page_of(action: Action) -> RowPage:
        return RowPage(partial(acting.confirm_row, action), "operate", route=action.path)

    def _columns(self) -> dict[str, Callable[[Any], Any]]:
        """Return the columns that every queue has; a list names those that it shows."""
        error, message = attrgetter(self.failures.code), attrgetter(self.failures.message)
        columns = [
            column("name", _("job"), lambda row: two_lines(self.page.name(row), f"…{str(row.pk)[-12:]}")),
            column("state", _("state"), self.states.cell),
            column("error", _("error"), lambda row: error_cell(row, error(row), message(row))),
            age,
        ]
        return {each.__name__: each for each in columns}

    def action_named(self, name: str) -> Action:
        return next(action for action in self.actions if action.name == name)

    def find_action(self, **named: str) -> Action:
        """Return the action of a `verb` or `path`."""
        ((attribute, value),) = named.items()
        action = next((action for action in self.actions if getattr(action, attribute) == value), None)
        if action is None:
            raise Http404
        return action

    def has_operate_permission(self, request: HttpRequest, row: Any = None) -> bool:
        """Ask the database once a request; Django and unfold ask for every action of a page, several times."""
        queue, answers = self.queue, request.__dict__.setdefault("may_act_in", {})
        if queue.table.queue not in answers:
            answers[queue.table.queue] = queue.may_act(request.user), queue.scopes_run_by(request.user)
        may_act, scopes = answers[queue.table.queue]
        if row is None or scopes is None:
            return bool(may_act)
        return may_act and str(getattr(row, queue.operations[0].scope)) in scopes

    def has_pause_permission(self, request: HttpRequest) -> bool:
        return bool(self.pause_title) and self.queue.may_pause(request.user)

    def read_id(self, text: str) -> UUID | None:
        with suppress(ValueError):
            return UUID(text)
        return None

    def in_reach(self, request: HttpRequest, ids: Sequence[Any]) -> Any:
        """Return which of these rows the user may act on: it is the same for all operations of a queue."""
        return self.queue.operations[0].within_reach(self.model._default_manager.filter(pk__in=ids), request.user)

    # The dashboard

    def oldest_row(self, user: User | AnonymousUser) -> OldestRow | None:
        oldest = self.queue.oldest_row(user)
        if oldest is None:
            return None
        name = oldest.name or str(self.page.name(oldest.row))
        return OldestRow(name, self.address("change", oldest.row.pk), oldest.since, oldest.place)

    def is_in_use(self, user: User | AnonymousUser) -> bool:
        """Return whether there is something to show; a queue that no one has set up takes no place."""
        return True

    # The list

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        context = {
            "bulk_offers": bulk_requests.bulk_offers(self, request),
            "follow_up": bulk_requests.follow_up(self, request),
            **(self._pause_context(request) if self.pause_title else {}),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)

    def get_actions(self, request: HttpRequest) -> dict[str, object]:
        """Offer for a list of one state or error only the actions that apply to it."""
        offered: dict[str, object] = super().get_actions(request)
        values = self.filters.accepted(request.GET, request.user, among=["status", "code", "group"])
        apply = {action.name for action in bulk_requests.actions_for(self, values)}
        return {name: entry for name, entry in offered.items() if name in apply}

    def links(self, request: HttpRequest, query: str = "") -> list[ListLink]:
        """Offer Pause while the queue runs; the banner offers Resume while it is paused."""
        links = super().links(request, query)
        if self.has_pause_permission(request) and not QueuePause.objects.of(self.queue.table).exists():
            links.append(ListLink(gettext("Pause the queue"), self.address("pause_queue")))
        return links

    def response_action(self, request: HttpRequest, queryset: object) -> HttpResponse | None:
        """Refuse a forged selection: one with an invalid id, or with rows that the user may not act on."""
        chosen = (self.read_id(text) for text in request.POST.getlist("_selected_action")[: self.most_acted_on])
        acting.log_out_of_reach(self, request, [pk for pk in chosen if pk])
        try:
            return super().response_action(request, queryset)
        except ValidationError:
            raise BadRequest(_("Invalid id.")) from None

    def confirm_selected(self, request: HttpRequest, action: Action, rows: Any) -> HttpResponse | None:
        return acting.confirm_selected(self, request, action, rows)

    # Pages

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return super().change_view(request, object_id, *args, **options)
        row = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if row is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        return job_page(self, request, row)

    def rows_to_export(self, failed: Any) -> Any:
        return failed

    def _pause_context(self, request: HttpRequest) -> dict[str, object]:
        pause = QueuePause.objects.of(self.queue.table).first()
        return {
            "queue_pause": pause,
            "paused_by": actor_in_words(pause.paused_by) if pause else "",
            "resume_href": self.address("resume_queue") if self.has_pause_permission(request) else "",
        }
