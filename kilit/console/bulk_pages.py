"""Bulk actions in the console: what was asked, how far it is, what became of each row."""

from collections.abc import Iterator
from typing import Any, cast

from django.contrib import messages
from django.contrib.admin import display
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from kilit.access.roles import Role, role_of
from kilit.api.csv_files import CHUNK, csv_lines, csv_response
from kilit.bulk.models import MOST_WITHOUT_COUNT, BulkAction, BulkActionQuerySet, BulkItem
from kilit.bulk.planning import BELL
from kilit.bulk.queues import queues, verb_of
from kilit.bulk.states import BULK_ACTIONS, State
from kilit.console.actions import Action, ReasonForm, left_as
from kilit.console.bulk import count_field, encoded, foretold, typed
from kilit.console.filters import StateFilter
from kilit.console.formatting import badge, page, since, two_lines
from kilit.console.formatting import number as grouped
from kilit.console.listing import LongListAdmin
from kilit.lock.audit import for_reason
from kilit.lock.models import Event
from kilit.workers import doorbells

COLOURS = {
    State.PLANNED: "info",
    State.READY: "warning",
    State.RUNNING: "info",
    State.DONE: "success",
    State.CANCELLED: "",
    State.FAILED: "danger",
}
CANCELLABLE = BULK_ACTIONS.moves["cancel"].sources
MOST_LEFT_SHOWN = 50
COLUMNS = ("id", "foundAs", "outcome", "wasThen", "doneAt")


@display(description=gettext_lazy("action"))
def what(row: BulkAction) -> SafeString:
    verb = cast("Action", verb_of(row.queue, row.action))
    return two_lines(f"{verb.title} · {verb.model._meta.verbose_name_plural}", row.filters_told, title=row.reason)


@display(description=gettext_lazy("state"))
def state(row: BulkAction) -> SafeString:
    """Return the state as word and colour."""
    return badge(row.status, COLOURS[State(row.status)])


@display(description=gettext_lazy("progress"))
def progress(row: BulkAction) -> SafeString:
    """Return how far it is, and how many rows it moved."""
    of = f"{grouped(row.done_count)} / {grouped(row.total)}" if row.total is not None else "-"
    return two_lines(of, _("%(number)s changed") % {"number": grouped(row.moved_count)})


@display(description=gettext_lazy("asked by"))
def asked_by(row: BulkAction) -> str:
    return str(row.asked_by)


@display(description=gettext_lazy("age"))
def age(row: BulkAction) -> SafeString:
    """Return how long ago it was asked for."""
    return since(row.created_at)


class BulkActionAdmin(LongListAdmin):
    """Bulk actions, newest first: one's own, and those over rows that one sees."""

    table = BULK_ACTIONS
    list_display = [what, state, progress, asked_by, age]
    list_filter = [StateFilter]
    list_select_related = ["asked_by"]
    search_help_text = gettext_lazy("A whole id, or a person's name")

    def get_queryset(self, request: HttpRequest) -> BulkActionQuerySet:
        rows: BulkActionQuerySet = super().get_queryset(request)
        return rows if role_of(request.user) == Role.ADMIN else rows.filter(self._seen_by(request.user))

    @staticmethod
    def _seen_by(user: Any) -> Q:
        seen = Q(asked_by=user.pk)
        for name, queue in queues.items():
            opts = queue.model._meta
            if user.has_perm(f"{opts.app_label}.view_{opts.model_name}"):
                scopes = queue.scopes_seen_by(user)
                seen |= Q(queue=name) if scopes is None else Q(queue=name, scopes__contained_by=scopes)
        return seen

    def search(self, rows: Any, text: str) -> Any:
        try:
            return rows.filter(pk=text)
        except (ValidationError, ValueError):
            return rows.filter(asked_by__username=text)

    # One action

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        """Show one action, with what can be done about it now."""
        action = self._found(request, object_id)
        return page(
            self,
            request,
            "admin/console/bulk_action.html",
            title=_("Bulk action"),
            **self._about(request, action),
        )

    def progress_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show how far it is: the part of the page that renews itself."""
        about = self._about(request, self._found(request, object_id))
        return TemplateResponse(request, "admin/console/bulk_progress.html", about)

    def start_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Start what was counted, once its number was typed."""
        action = self._found(request, object_id)
        if not self._may_start(request, action):
            raise PermissionDenied
        rows = BulkAction.objects.filter(pk=action.pk)
        with for_reason(action.reason):
            started = rows.start(count=typed(request.POST))
        if started:
            doorbells.ring(BELL)
        elif rows.filter(status=State.READY).exists():
            messages.error(request, _("Type %(number)s to start it.") % {"number": grouped(action.eligible or 0)})
        else:
            self._refused(request, rows.get())
        return self._to_page(action)

    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask why, then stop it; what was done stays done.

        On a page of its own: the part that renews itself would take a half-written reason away.
        """
        action = self._found(request, object_id)
        if not self._may_cancel(request, action):
            raise PermissionDenied
        rows, form = BulkAction.objects.filter(pk=action.pk), ReasonForm(request.POST or None)
        if action.status not in CANCELLABLE:
            self._refused(request, action)
        elif not form.is_valid():
            return self._ask_to_cancel(request, action, form)
        else:
            with for_reason(form.cleaned_data["reason"]):
                stopped = rows.cancel()
            if stopped:
                messages.success(request, _cancelled(rows.get()))
            else:
                self._refused(request, rows.get())
        return self._to_page(action)

    def _ask_to_cancel(self, request: HttpRequest, action: BulkAction, form: ReasonForm) -> HttpResponse:
        if action.done_count:
            words = _("%(moved)s of %(total)s were changed already, and stay so. The others are left alone.")
        else:
            words = _("Nothing was changed yet, and nothing will be.")
        form.fields["reason"].help_text = _("Kept in the timeline of the bulk action, with your name.")
        return page(
            self,
            request,
            "admin/console/confirm.html",
            title=_cancel_label(action),
            original=action,
            sentences=[words % {"moved": grouped(action.moved_count), "total": grouped(action.total or 0)}],
            facts=[(_("Filter"), action.filters_told)],
            form=form,
            submit=_cancel_label(action),
            is_dangerous=True,
            back=reverse("admin:bulk_bulkaction_change", args=[action.pk]),
        )

    def results_view(self, request: HttpRequest, object_id: str) -> StreamingHttpResponse:
        action = self._found(request, object_id)
        items = action.items.order_by("object_id").iterator(chunk_size=CHUNK)
        return csv_response(f"bulk-action-{action.pk}", csv_lines(COLUMNS, _cells(items)))

    def get_urls(self) -> list[Any]:
        views = {"progress": self.progress_view, "results": self.results_view, "cancel": self.cancel_view}
        views |= {"start": require_POST(self.start_view)}
        own = [
            path(f"<str:object_id>/{name}/", self.admin_site.admin_view(view), name=f"bulk_bulkaction_{name}")
            for name, view in views.items()
        ]
        return [*own, *super().get_urls()]

    def _found(self, request: HttpRequest, object_id: str) -> BulkAction:
        if not self.has_view_permission(request):
            raise PermissionDenied
        action: BulkAction | None = self.get_object(request, unquote(object_id))
        if action is None:
            raise Http404
        return action

    def _about(self, request: HttpRequest, action: BulkAction) -> dict[str, Any]:
        queue, verb = queues[action.queue], cast("Action", verb_of(action.queue, action.action))
        opts = queue.model._meta
        rows = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
        left = action.items.filter(outcome=BulkItem.Outcome.LEFT).order_by("object_id")[:MOST_LEFT_SHOWN]
        needs_count = (action.eligible or 0) > MOST_WITHOUT_COUNT
        return {
            "action": action,
            "verb": verb,
            "original": action,
            "timeline": Event.objects.history(action),
            "state_badge": state(action),
            "opts_of_rows": opts,
            "list_address": f"{rows}?{encoded(action.filters)}",
            "sentences": foretold(verb, action.dry_run) if action.total is not None else [],
            "progress": _progress(action),
            "report": _report(verb, action),
            "left": [(item, f"{rows}{item.object_id}/change/") for item in left],
            "left_beyond": max(0, sum(action.left.values()) - MOST_LEFT_SHOWN),
            "may_start": self._may_start(request, action) and action.status == State.READY and bool(action.eligible),
            "may_cancel": action.status in CANCELLABLE and self._may_cancel(request, action),
            "cancel_label": _cancel_label(action),
            "count_field": count_field(action.eligible or 0).label if needs_count else "",
            "is_working": action.is_working,
        }

    def _may_start(self, request: HttpRequest, action: BulkAction) -> bool:
        """Only whoever asked: it is done in their name."""
        return request.user.pk == action.asked_by_id and queues[action.queue].may_act(request.user)

    def _may_cancel(self, request: HttpRequest, action: BulkAction) -> bool:
        """Whoever asked, and whoever may act on all of its rows: a part of it cannot be stopped."""
        user = request.user
        return user.pk == action.asked_by_id or (queues[action.queue].may_act(user) and _runs_all(user, action))

    @staticmethod
    def _refused(request: HttpRequest, action: BulkAction) -> None:
        messages.warning(request, _("Nothing was done: it is %(state)s.") % {"state": action.status})

    @staticmethod
    def _to_page(action: BulkAction) -> HttpResponseRedirect:
        return HttpResponseRedirect(reverse("admin:bulk_bulkaction_change", args=[action.pk]))


def _runs_all(user: Any, action: BulkAction) -> bool:
    """Tell whether a user may act on rows of each site that the action reaches, by one row of each."""
    verb, rows = verb_of(action.queue, action.action), queues[action.queue].model.objects
    if not verb.scope:
        return True
    if action.scopes is None:  # its rows are being written down, and may be anybody's
        return bool(user.is_superuser)
    return all(verb.within_reach(rows.filter(**{verb.scope: scope}), user).exists() for scope in action.scopes)


def _cancel_label(action: BulkAction) -> str:
    """Speak of a rest only once something was done."""
    return _("Cancel the rest") if action.done_count else _("Cancel")


def _cancelled(action: BulkAction) -> str:
    """Say what had been done when it was stopped."""
    if not action.done_count:
        return _("Cancelled. Nothing was changed.")
    words = _("Cancelled. %(moved)s of %(total)s were changed before, and stay so.")
    return words % {"moved": grouped(action.moved_count), "total": grouped(action.total or 0)}


def _progress(action: BulkAction) -> str:
    words = _("%(done)s of %(total)s rows looked at (%(percent)s %%)")
    return words % {"done": grouped(action.done_count), "total": grouped(action.total or 0), "percent": action.percent}


def _report(verb: Action, action: BulkAction) -> str:
    """Say what was done so far, as an action over a selection says it."""
    if not action.done_count:
        return ""
    return verb.report(action.total or 0, action.moved_count, *left_as(action.left)).sentence


def _cells(items: Iterator[BulkItem]) -> Iterator[list[Any]]:
    for item in items:
        done_at = item.done_at.isoformat() if item.done_at else ""
        yield [item.object_id, item.found_as, item.outcome or "waiting", item.note, done_at]
