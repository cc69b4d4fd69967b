"""The pages of batch jobs (bulk actions and imports), and those of bulk actions: progress, the result of each row."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from kilit.batches.jobs import BatchJob
from kilit.batches.models import MOST_WITHOUT_COUNT, BulkAction, BulkActionQuerySet, BulkItem
from kilit.batches.operations import Skip
from kilit.batches.permissions import may_cancel, may_start, visible_to
from kilit.batches.queues import queues
from kilit.batches.run import ENGINE, skips_from_json
from kilit.batches.states import BULK_ACTIONS, BulkState
from kilit.console.admin.activity import BULK_STORY, console_action
from kilit.console.formatting import badge, column, find_object, page
from kilit.console.formatting import number as grouped
from kilit.console.lists.actions import Action
from kilit.console.lists.bulk_requests import count_field, count_now, preview_text, typed_count
from kilit.console.lists.confirming import ReasonForm
from kilit.console.lists.listing import ReadOnlyAdmin, RowPage
from kilit.console.menu import ACTIVITY
from kilit.csv.writer import CHUNK, csv_lines, csv_response
from kilit.lock.audit import for_reason
from kilit.lock.models import Activity, Event
from kilit.masking import mask_personal_data
from kilit.problems.links import list_path, page_path
from kilit.workers import doorbells

MOST_SKIPPED_SHOWN = 50
MOST_FOLLOWED = 20_000  # changed rows whose states are counted: some hundredths of a second
FOLLOWED_FOR = timedelta(hours=1)  # after the end, by the page
COLUMNS = ("id", "foundAs", "result", "state", "reason", "doneAt")
COLOURS = {BulkState.READY: "warning", BulkState.DONE: "success", BulkState.CANCELLED: ""}


def _badge(job: BatchJob) -> SafeString:
    return badge(str(job.lifecycle.labels[job.status]), COLOURS.get(job.status, "info" if job.is_working else "danger"))


state = column("state", gettext_lazy("state"), _badge)
asked_by = column("asked_by", gettext_lazy("requested by"), lambda job: str(job.asked_by or "-"))


def progress_page(model_admin: "BatchJobAdmin", request: HttpRequest, job: BatchJob) -> HttpResponse:
    return TemplateResponse(request, model_admin.progress_template, model_admin.context(request, job))


def refuse(request: HttpRequest, job: BatchJob) -> None:
    job.refresh_from_db()
    state = job.lifecycle.labels[job.status]
    messages.warning(request, _("Nothing was changed. Its state: %(state)s.") % {"state": state})


class BatchJobAdmin(ReadOnlyAdmin):
    page_title: ClassVar[StrOrPromise]
    progress_template: ClassVar[str]  # it refreshes itself
    context: Callable[[HttpRequest, Any], dict[str, object]]  # of a job's page and its progress
    row_pages = {"progress": RowPage(progress_page)}

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        return page(
            self,
            request,
            "admin/console/batch_job.html",
            title=str(self.page_title),
            is_own_page=True,
            progress_template=self.progress_template,
            **self.context(request, find_object(self, request, object_id)),
        )


def start_page(_model_admin: BatchJobAdmin, request: HttpRequest, action: BulkAction) -> None:
    """Start what was counted; many rows need their number typed."""
    rows = BulkAction.objects.filter(pk=action.pk)
    with for_reason(action.reason):
        started = rows.start(count=typed_count(request.POST))
    if started:
        doorbells.ring(ENGINE.bell)
    elif rows.filter(status=BulkState.READY).exists():
        messages.error(request, _("Type %(number)s to start it.") % {"number": grouped(action.eligible or 0)})
    else:
        refuse(request, action)


def cancel_page(model_admin: BatchJobAdmin, request: HttpRequest, action: BulkAction) -> HttpResponse | None:
    """Ask for a reason, then stop it; finished batches stay as they are.

    On a separate page: the part that refreshes itself would discard a half-written reason.
    """
    form = ReasonForm(request.POST or None, help_text=_("Shown in the timeline of the bulk action, with your name."))
    if not action.is_open:
        refuse(request, action)
        return None
    if not form.is_valid():
        return _ask_to_cancel(model_admin, request, action, form)
    with for_reason(form.cleaned_data["reason"]):
        stopped = ENGINE.cancel(action)
    if stopped:
        messages.success(request, _cancelled(action))
    else:
        refuse(request, action)
    return None


def _ask_to_cancel(
    model_admin: BatchJobAdmin, request: HttpRequest, action: BulkAction, form: ReasonForm
) -> HttpResponse:
    if action.done_count:
        sentence = _("%(moved)s of %(total)s are already changed and stay changed. The others will not change.")
    else:
        sentence = _("Nothing has been changed yet, and nothing will be.")
    return model_admin.confirm(
        request,
        action,
        title=_("Stop this bulk action?"),
        sentences=[sentence % {"moved": grouped(action.moved_count), "total": grouped(action.total or 0)}],
        facts=[(_("Filter"), mask_personal_data(action.filters_text))],
        form=form,
        reasons_for="cancel",
        submit=_cancel_label(action),
        is_dangerous=True,
    )


def results_file(_model_admin: BatchJobAdmin, _request: HttpRequest, action: BulkAction) -> StreamingHttpResponse:
    items = action.items.order_by("object_id").iterator(chunk_size=CHUNK)
    return csv_response(f"bulk-action-{action.pk}", csv_lines(COLUMNS, map(_cells, items)))


@admin.register(BulkAction)
class BulkActionAdmin(BatchJobAdmin):
    menu = ACTIVITY.tab(1, is_offered=False)
    page_title = gettext_lazy("Bulk action")
    progress_template = "admin/console/bulk_progress.html"
    row_pages = {
        **BatchJobAdmin.row_pages,
        "results": RowPage(results_file),
        "cancel": RowPage(cancel_page, "cancel"),
        "start": RowPage(start_page, "start", is_posted=True),
    }

    def get_queryset(self, request: HttpRequest) -> BulkActionQuerySet:
        rows: BulkActionQuerySet = super().get_queryset(request)
        return rows.filter(visible_to(request.user), queue__in=[*queues])

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Lead to the activity, which lists them."""
        return HttpResponseRedirect(list_path(Activity, queue=BULK_ACTIONS.queue))

    def has_start_permission(self, request: HttpRequest, action: BulkAction | None = None) -> bool:
        return action is None or may_start(request.user, action)

    def has_cancel_permission(self, request: HttpRequest, action: BulkAction | None = None) -> bool:
        return action is None or may_cancel(request.user, action)

    def context(self, request: HttpRequest, action: BulkAction) -> dict[str, object]:
        console = console_action(action)
        model = queues[action.queue].model
        skips = skips_from_json(action.skipped)
        report = console.report(action.total or 0, action.moved_count, *console.skipped_text(skips))
        skipped = action.items.filter(result=BulkItem.Result.SKIPPED).order_by("object_id")[:MOST_SKIPPED_SHOWN]
        needs_count = (action.eligible or 0) > MOST_WITHOUT_COUNT
        return {
            "action": action,
            "filters_text": mask_personal_data(action.filters_text),
            "console": console,
            "original": action,
            "timeline": BULK_STORY.steps(Event.objects.history(action), labels=action.lifecycle.labels),
            "state_badge": state(action),
            "opts_of_rows": model._meta,
            "list_address": list_path(model, **action.filters),
            "sentences": preview_text(console, action.dry_run) if action.total is not None else [],
            "progress": _progress(action),
            "report": report.sentence if action.done_count else "",
            **self._outcome_context(request, action, console),
            "skipped": [
                (
                    item.object_id,
                    console.skip_text(Skip(item.state, item.reason)),
                    page_path(model, "change", item.object_id),
                )
                for item in skipped
            ],
            "skipped_beyond": max(0, skips.total() - MOST_SKIPPED_SHOWN),
            "may_start": action.status == BulkState.READY and action.eligible and may_start(request.user, action),
            "may_cancel": action.is_open and may_cancel(request.user, action),
            "cancel_label": _cancel_label(action),
            "count_field": count_field(action.eligible or 0).label if needs_count else "",
            "is_working": action.is_working,
        }

    @staticmethod
    def _outcome_context(request: HttpRequest, action: BulkAction, console: Action) -> dict[str, object]:
        """Return where the rows it changed are now; a worker may reject them long after it has finished."""
        changed = action.items.filter(result=BulkItem.Result.CHANGED).order_by("object_id").values("object_id")
        rows = queues[action.queue].visible_to(request.user).filter(pk__in=changed[:MOST_FOLLOWED])
        bulk = str(action.pk)
        ended_at = action.finished_at or timezone.now()
        return {
            "rows_now": count_now(rows, console, bulk=bulk) if action.moved_count else [],
            "rows_followed": grouped(MOST_FOLLOWED) if action.moved_count > MOST_FOLLOWED else "",
            "changed_address": list_path(rows.model, bulk=bulk),
            "is_followed": not action.is_working and action.moved_count and timezone.now() - ended_at < FOLLOWED_FOR,
        }


def _cells(item: BulkItem) -> list[object]:
    result, reason = item.result or "waiting", mask_personal_data(item.reason)
    return [item.object_id, item.found_as, result, item.state, reason, item.done_at]


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
