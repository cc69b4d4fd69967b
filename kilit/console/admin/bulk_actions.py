"""Bulk actions in the console: what was requested, the progress, the result of each row."""

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from kilit.batches.filters import FilterSet, state_filter
from kilit.batches.models import MOST_WITHOUT_COUNT, BulkAction, BulkActionQuerySet, BulkItem
from kilit.batches.operations import Skip
from kilit.batches.permissions import may_cancel, may_start, visible_to
from kilit.batches.queues import queues
from kilit.batches.run import BELL, skips_from_json
from kilit.batches.states import BULK_ACTIONS, BulkState
from kilit.console.formatting import badge, column, page, since, two_lines
from kilit.console.formatting import number as grouped
from kilit.console.jobs.activity import BULK_STORY, console_action
from kilit.console.lists.actions import Action, ReasonForm, format_skip, recent_reasons, skipped_text
from kilit.console.lists.bulk_requests import count_field, count_now, encode, preview_text, typed_count
from kilit.console.lists.listing import LongListAdmin
from kilit.csv.writer import CHUNK, csv_lines, csv_response
from kilit.lock.audit import for_reason
from kilit.lock.models import Event
from kilit.masking import mask_personal_data
from kilit.workers import doorbells

COLOURS = {
    BulkState.PLANNED: "info",
    BulkState.READY: "warning",
    BulkState.RUNNING: "info",
    BulkState.DONE: "success",
    BulkState.CANCELLED: "",
    BulkState.FAILED: "danger",
}
CANCELLABLE = BULK_ACTIONS.moves["cancel"].sources
MOST_SKIPPED_SHOWN = 50
MOST_FOLLOWED = 20_000  # changed rows whose states are counted: some hundredths of a second
FOLLOWED_FOR = timedelta(hours=1)  # after the end, by the page
COLUMNS = ("id", "foundAs", "result", "state", "reason", "doneAt")


def search(rows: Any, text: str) -> object:
    try:
        return rows.filter(pk=text)
    except (ValidationError, ValueError):
        return rows.filter(asked_by__username=text)


FILTERS = FilterSet((state_filter(BULK_ACTIONS),), search=search)


def _title(row: BulkAction) -> SafeString:
    names = queues[row.queue].model._meta.verbose_name_plural
    return two_lines(f"{console_action(row).title} · {names}", mask_personal_data(row.filters_text), title=row.reason)


def _done(row: BulkAction) -> SafeString:
    of = f"{grouped(row.done_count)} / {grouped(row.total)}" if row.total is not None else "-"
    return two_lines(of, _("%(number)s changed") % {"number": grouped(row.moved_count)})


title = column("title", gettext_lazy("action"), _title)
state = column("state", gettext_lazy("state"), lambda row: badge(row.status, COLOURS[BulkState(row.status)]))
progress = column("progress", gettext_lazy("progress"), _done)
asked_by = column("asked_by", gettext_lazy("requested by"), lambda row: str(row.asked_by))
age = column("age", gettext_lazy("age"), lambda row: since(row.created_at), order="id")


class BulkActionAdmin(LongListAdmin):
    filters = FILTERS
    list_display = [title, state, progress, asked_by, age]
    list_select_related = ["asked_by"]
    search_help_text = gettext_lazy("An id, or a user name")

    def get_queryset(self, request: HttpRequest) -> BulkActionQuerySet:
        rows: BulkActionQuerySet = super().get_queryset(request)
        return rows.filter(visible_to(request.user))

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        context = self._context(request, self._found(request, object_id))
        return page(
            self, request, "admin/console/bulk_action.html", title=_("Bulk action"), is_own_page=True, **context
        )

    def progress_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        context = self._context(request, self._found(request, object_id))
        return TemplateResponse(request, "admin/console/bulk_progress.html", context)

    def start_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Start what was counted; many rows need their number typed."""
        action = self._found(request, object_id)
        if not may_start(request.user, action):
            raise PermissionDenied
        rows = BulkAction.objects.filter(pk=action.pk)
        with for_reason(action.reason):
            started = rows.start(count=typed_count(request.POST))
        if started:
            doorbells.ring(BELL)
        elif rows.filter(status=BulkState.READY).exists():
            messages.error(request, _("Type %(number)s to start it.") % {"number": grouped(action.eligible or 0)})
        else:
            self._refused(request, rows.get())
        return self._to_page(action)

    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask for a reason, then stop it; finished batches stay as they are.

        On a separate page: the part that refreshes itself would discard a half-written reason.
        """
        action = self._found(request, object_id)
        if not may_cancel(request.user, action):
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
            sentence = _("%(moved)s of %(total)s are already changed and stay changed. The others will not change.")
        else:
            sentence = _("Nothing has been changed yet, and nothing will be.")
        form.fields["reason"].help_text = _("Shown in the timeline of the bulk action, with your name.")
        return page(
            self,
            request,
            "admin/console/confirm.html",
            title=_("Stop this bulk action?"),
            original=action,
            sentences=[sentence % {"moved": grouped(action.moved_count), "total": grouped(action.total or 0)}],
            facts=[(_("Filter"), mask_personal_data(action.filters_text))],
            form=form,
            reasons=recent_reasons(request.user, "cancel"),
            submit=_cancel_label(action),
            is_dangerous=True,
            back=reverse("admin:bulk_bulkaction_change", args=[action.pk]),
        )

    def results_view(self, request: HttpRequest, object_id: str) -> StreamingHttpResponse:
        action = self._found(request, object_id)
        cells = (
            [
                item.object_id,
                item.found_as,
                item.result or "waiting",
                item.state,
                mask_personal_data(item.reason),
                item.done_at,
            ]
            for item in action.items.order_by("object_id").iterator(chunk_size=CHUNK)
        )
        return csv_response(f"bulk-action-{action.pk}", csv_lines(COLUMNS, cells))

    def get_urls(self) -> list[object]:
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

    def _context(self, request: HttpRequest, action: BulkAction) -> dict[str, object]:
        console = console_action(action)
        opts = queues[action.queue].model._meta
        rows = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
        skips = skips_from_json(action.skipped)
        report = console.report(action.total or 0, action.moved_count, *skipped_text(skips))
        skipped = action.items.filter(result=BulkItem.Result.SKIPPED).order_by("object_id")[:MOST_SKIPPED_SHOWN]
        needs_count = (action.eligible or 0) > MOST_WITHOUT_COUNT
        return {
            "action": action,
            "filters_text": mask_personal_data(action.filters_text),
            "console": console,
            "original": action,
            "timeline": BULK_STORY.steps(Event.objects.history(action)),
            "state_badge": state(action),
            "opts_of_rows": opts,
            "list_address": f"{rows}?{encode(action.filters)}",
            "sentences": preview_text(console, action.dry_run) if action.total is not None else [],
            "progress": _progress(action),
            "report": report.sentence if action.done_count else "",
            **self._outcome_context(request, action, console, rows),
            "skipped": [
                (item.object_id, format_skip(Skip(item.state, item.reason)), f"{rows}{item.object_id}/change/")
                for item in skipped
            ],
            "skipped_beyond": max(0, skips.total() - MOST_SKIPPED_SHOWN),
            "may_start": action.status == BulkState.READY and action.eligible and may_start(request.user, action),
            "may_cancel": action.status in CANCELLABLE and may_cancel(request.user, action),
            "cancel_label": _cancel_label(action),
            "count_field": count_field(action.eligible or 0).label if needs_count else "",
            "is_working": action.is_working,
        }

    @staticmethod
    def _outcome_context(request: HttpRequest, action: BulkAction, console: Action, listed: str) -> dict[str, object]:
        """Return where the rows it changed are now; a worker may reject them long after it has finished."""
        changed = action.items.filter(result=BulkItem.Result.CHANGED).order_by("object_id").values("object_id")
        rows = queues[action.queue].visible_to(request.user).filter(pk__in=changed[:MOST_FOLLOWED])
        counts = count_now(rows, console, lambda state: f"{listed}?{encode({'bulk': str(action.pk), 'status': state})}")
        ended_at = action.finished_at or timezone.now()
        return {
            "rows_now": counts if action.moved_count else [],
            "rows_followed": grouped(MOST_FOLLOWED) if action.moved_count > MOST_FOLLOWED else "",
            "changed_address": f"{listed}?{encode({'bulk': str(action.pk)})}",
            "is_followed": not action.is_working and action.moved_count and timezone.now() - ended_at < FOLLOWED_FOR,
        }

    @staticmethod
    def _refused(request: HttpRequest, action: BulkAction) -> None:
        messages.warning(request, _("Nothing was changed: it is %(state)s.") % {"state": action.status})

    @staticmethod
    def _to_page(action: BulkAction) -> HttpResponseRedirect:
        return HttpResponseRedirect(reverse("admin:bulk_bulkaction_change", args=[action.pk]))


def _cancel_label(action: BulkAction) -> str:
    return _("Stop the rest") if action.done_count else _("Stop")


def _cancelled(action: BulkAction) -> str:
    if not action.done_count:
        return _("Stopped. Nothing was changed.")
    text = _("Stopped. %(moved)s of %(total)s were already changed and stay changed.")
    return text % {"moved": grouped(action.moved_count), "total": grouped(action.total or 0)}


def _progress(action: BulkAction) -> str:
    text = _("%(done)s of %(total)s rows processed (%(percent)s %%)")
    return text % {"done": grouped(action.done_count), "total": grouped(action.total or 0), "percent": action.percent}
