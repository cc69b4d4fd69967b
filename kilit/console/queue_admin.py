"""The admin of a queue's rows. What a queue declares here and in its `JobDescription` is all that its console needs."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from kilit.batches.queues import Queue
from kilit.console.account.form_pages import back_to_page
from kilit.console.formatting import button, column, error_cell, since, two_lines
from kilit.console.jobs.job_page import JobDescription, job_page, row_to_change
from kilit.console.jobs.states import States
from kilit.console.lists import acting, bulk_requests
from kilit.console.lists.actions import Action
from kilit.console.lists.confirming import ReasonForm, confirm_page, reason_field
from kilit.console.lists.error_groups import groups_page
from kilit.console.lists.list_controls import QueueControls
from kilit.console.lists.listing import ReadOnlyAdmin
from kilit.console.menu import MenuItem, MenuTab
from kilit.csv.writer import CHUNK, csv_lines, csv_response
from kilit.lock.audit import actor_in_words
from kilit.lock.failures import Failures
from kilit.lock.models import QueuePause
from kilit.lock.priorities import Priority, change_priority
from kilit.lock.table import Kind


class PauseForm(ReasonForm):
    reason = reason_field(_("Shown to everyone who asks why jobs wait, with your name."), most=200)


class OldestRow(NamedTuple):
    name: str
    href: str
    since: datetime
    place: str = ""


class QueueAdmin(ReadOnlyAdmin):
    queue: Queue
    failures: Failures
    menu: MenuItem | MenuTab
    page = JobDescription()
    actions: Sequence[Action] = ()  # in the order in which they are offered
    most_acted_on = 500
    scope_filter = ""  # the filter by what counts are kept for, such as sites
    # Of a queue that can be paused: its claim reads `is_not_paused`, and `actions_list` has "pause_queue".
    pause_title: StrOrPromise = ""  # a question
    pause_effect: StrOrPromise = ""
    # Each column of the file of failed rows, with the attribute or function of a row that fills it.
    export_fields: Mapping[str, str | Callable[[Any], Any]] = {}
    export_states: Sequence[str] = ()  # those of the kind FAILED, unless it says otherwise
    # Columns with personal data, and how they are masked for viewers; operators need them to correct rows.
    export_masks: Mapping[str, Callable[[str], str]] = {}
    pages_with_filters: Sequence[str] = ("/dead-letters/",)
    # Of a queue that has a strip on the dashboard: since when its `oldest_row` waits, and what to know of its chart.
    oldest_means: StrOrPromise = ""
    chart_note: StrOrPromise = ""

    actions_list: Sequence[str] = ("error_groups", "dead_letters")
    list_display: Sequence[Any] = ()  # name, state, error and age, unless it says otherwise
    controls_class = QueueControls

    def __init__(self, *args: Any) -> None:
        self.filters = self.queue.filters
        self.states = self.page.states or States(self.queue.table)
        self.export_states = self.export_states or self.queue.table.of_kind(Kind.FAILED)
        self.list_display = self.list_display or self._columns()
        super().__init__(*args)

    def _columns(self) -> list[Callable[[Any], Any]]:
        error, message = attrgetter(self.failures.code), attrgetter(self.failures.message)
        return [
            column("name", _("job"), lambda row: two_lines(self.page.name(row), f"…{str(row.pk)[-12:]}")),
            column("state", _("state"), lambda row: self.states.badge(row.status)),
            column("error", _("error"), lambda row: error_cell(row, error(row), message(row))),
            column("age", _("age"), lambda row: since(row.created_at), order="id"),
        ]

    def action_named(self, name: str) -> Action:
        return next(action for action in self.actions if action.name == name)

    def find_action(self, request: HttpRequest, **named: str) -> Action:
        """Return the action of a `verb` or `path` for a user who may act on some rows."""
        ((attribute, value),) = named.items()
        action = next((action for action in self.actions if getattr(action, attribute) == value), None)
        if action is None:
            raise Http404
        if not self.has_operate_permission(request):
            raise PermissionDenied
        return action

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Ask the database once a request; Django and unfold ask for every action of a page, several times."""
        answers: dict[str, bool] = request.__dict__.setdefault("may_act_in", {})
        queue = self.queue.table.queue
        if queue not in answers:
            answers[queue] = self.queue.may_act(request.user)
        if object_id is None or not (answers[queue] and self.scope_filter):
            return answers[queue]
        pk = self.read_id(unquote(object_id))
        return pk is not None and self.acted_on_by(request).filter(pk=pk).exists()

    def has_pause_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.queue.may_pause(request.user)

    def read_id(self, text: str) -> UUID | None:
        with suppress(ValueError):
            return UUID(text)
        return None

    def acted_on_by(self, request: HttpRequest) -> Any:
        return self.get_queryset(request)

    # The dashboard

    def oldest_row(self, user: User | AnonymousUser) -> OldestRow | None:
        """Return the row that has waited longest. A queue of millions overrides it, to read along an index."""
        waiting = self.queue.visible_to(user).filter(status__in=self.queue.table.of_kind(Kind.WAITING))
        row = waiting.order_by("created_at", "id").first()
        return OldestRow(str(self.page.name(row)), self.address("change", row.pk), row.created_at) if row else None

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

    def get_actions_list(self, request: HttpRequest) -> list[object]:
        """Offer Pause while the queue runs; the banner offers Resume while it is paused."""
        offered: list[Any] = super().get_actions_list(request)
        is_paused = self.pause_title and QueuePause.objects.of(self.queue.table).exists()
        hidden = self.view_name("pause_queue") if is_paused else ""
        return [action for action in offered if action.action_name != hidden]

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

    @button(description=_("Error groups"), icon="stacks", permissions=["view"], url_path="groups")
    def error_groups(self, request: HttpRequest) -> HttpResponse:
        return groups_page(self, request)

    @button(description=_("Export failed (CSV)"), icon="download", permissions=["view"], url_path="dead-letters")
    def dead_letters(self, request: HttpRequest) -> HttpResponseBase:
        """Stream the failed rows in the list's filters; a server-side cursor keeps memory the same for any number."""
        listed, state = self.get_changelist_instance(request), request.GET.get("status", "").strip()
        is_rejected = listed.rejected_filters()  # the list shows the message
        if not is_rejected and state and state not in self.export_states:
            values = {"states": self.queue.table.words(self.export_states), "state": self.queue.table.labels[state]}
            text = _("The export has rows in these states: %(states)s. The list shows another: %(state)s.")
            messages.warning(request, text % values)
            is_rejected = True
        if is_rejected:
            return HttpResponseRedirect(f"{self.address('changelist')}?{request.GET.urlencode()}")
        rows = self.rows_to_export(listed.get_queryset(request).filter(status__in=self.export_states)).order_by("pk")
        masks = {} if self.has_operate_permission(request) else self.export_masks
        readers = {name: read if callable(read) else attrgetter(read) for name, read in self.export_fields.items()}

        def cells(row: Any) -> list[Any]:
            return [masks[name](read(row)) if name in masks else read(row) for name, read in readers.items()]

        return csv_response("dead-letters", csv_lines(tuple(readers), map(cells, rows.iterator(chunk_size=CHUNK))))

    def rows_to_export(self, failed: Any) -> Any:
        return failed

    @button(description=_("Pause the queue"), icon="pause_circle", permissions=["pause"], url_path="pause")
    def pause_queue(self, request: HttpRequest) -> HttpResponse:
        form, back = PauseForm(request.POST or None), self.address("changelist")
        if request.method == "POST" and form.is_valid():
            if QueuePause.objects.pause(self.queue.table, reason=form.cleaned_data["reason"]):
                messages.success(request, _("The queue is paused."))
            else:
                messages.info(request, _("The queue was paused already."))
            return HttpResponseRedirect(back)
        title, sentences = self.pause_title, [self.pause_effect]
        return confirm_page(self, request, title=title, sentences=sentences, form=form, submit=_("Pause"), back=back)

    def resume_queue(self, request: HttpRequest) -> HttpResponse:
        if not self.has_pause_permission(request):
            raise PermissionDenied
        if request.method == "POST":  # logging in again leads here without the form
            if QueuePause.objects.resume(self.queue.table):
                messages.success(request, _("The queue is resumed."))
            else:
                messages.info(request, _("The queue was not paused."))
        return back_to_page(request, self.address("changelist"))

    def _pause_context(self, request: HttpRequest) -> dict[str, object]:
        pause = QueuePause.objects.of(self.queue.table).first()
        return {
            "queue_pause": pause,
            "paused_by": actor_in_words(pause.paused_by) if pause else "",
            "resume_href": self.address("resume_queue") if self.has_pause_permission(request) else "",
        }

    def change_priority(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row, states = row_to_change(self, request, object_id), self.page.priority_states
        if request.method == "POST":  # logging in again leads here without the form
            priority = Priority.__members__.get(request.POST.get("priority", "").upper())
            if priority is None:
                messages.error(request, _("Choose a priority."))
            elif change_priority(row, priority, waiting=states):
                messages.success(request, _("The priority is now %(priority)s.") % {"priority": priority.label})
            else:
                messages.warning(request, _("Nothing was changed: the job has this priority, or it no longer waits."))
        return acting.back_to_row(self, request, row)

    def get_urls(self) -> list[object]:
        pages = [
            self.route("act/<str:verb>/", "act", partial(acting.act, self)),
            self.route("undo/<str:verb>/", "undo", partial(acting.take_back, self)),
            self.route("all/<str:name>/", "act_on_all", partial(bulk_requests.act_on_all, self)),
        ]
        for action in self.actions:
            ask = partial(acting.confirm_row, self, action)
            pages.append(self.route(f"<path:object_id>/{action.path}/", f"{action.name}_row", ask))
        if self.pause_title:
            pages.append(self.route("resume/", "resume_queue", self.resume_queue))
        if self.page.priority_states:
            pages.append(self.route("<path:object_id>/priority/", "priority", self.change_priority))
        return pages + super().get_urls()
