"""The problems of the dashboard with their history; the page of one mutes its alerts for a while."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.timezone import now
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise
from unfold.widgets import UnfoldAdminSelectWidget

from kilit.batches.filters import ChoiceFilter, FilterSet
from kilit.console.admin.activity import ActivitySource, register_activity
from kilit.console.formatting import column, exactly, find_object, link, number, two_lines, with_code
from kilit.console.jobs.timeline import Story
from kilit.console.lists.confirming import ReasonForm, confirm_page, reason_field
from kilit.console.lists.listing import ReadOnlyAdmin, RowList
from kilit.console.menu import DASHBOARD
from kilit.problems.kinds import SUMS
from kilit.problems.models import ProblemRecord
from kilit.problems.queues import triage
from kilit.problems.registry import Severity
from kilit.problems.states import PROBLEMS, ProblemState
from kilit.spans import format_span

SPANS = {
    "1": _("1 hour"),
    "4": _("4 hours"),
    "24": _("1 day"),
    "72": _("3 days"),
    "168": _("1 week"),
}


register_activity(
    PROBLEMS.queue,
    ActivitySource(
        _("Problems"),
        Story({"JOB_CREATED": _("Problems found"), "close": _("Problems over")}),
        lambda row: reverse("admin:problems_problemrecord_change", args=[row.object_id]),
        lambda ids: {str(record.pk): record.title for record in ProblemRecord.objects.filter(pk__in=ids)},
    ),
)


class MuteForm(ReasonForm):
    reason = reason_field(most=200)
    hours = forms.ChoiceField(label=_("For"), choices=list(SPANS.items()), initial="4", widget=UnfoldAdminSelectWidget)


def may_mute(user: User | AnonymousUser) -> bool:
    return bool(user.has_perm("problems.operate_problemrecord"))


def is_muted(record: ProblemRecord) -> bool:
    return record.status == ProblemState.OPEN and record.muted_until is not None and record.muted_until > now()


def _cause(record: ProblemRecord) -> SafeString:
    return with_code(record.text("cause"), record.text("code"))


title = column("problem", _("problem"), lambda record: two_lines(record.title, _cause(record)))
severity = column(
    "severity",
    _("severity"),
    lambda record: Severity(record.severity).label,
    sort_key=lambda record: record.severity,
)
size = column("count", _("count"), lambda record: number(record.count), sort_key=lambda record: record.count)
began = column("began", _("began"), lambda record: exactly(record.began_at))
ended = column("ended", _("ended"), lambda record: exactly(record.seen_at))
lasted = column("lasted", _("lasted"), lambda record: format_span(record.lasted), sort_key=lambda record: record.lasted)
SEVERITIES = ChoiceFilter(
    name="severity",
    title=_("severity"),
    column="severity",
    choices=[(str(value), label) for value, label in Severity.choices],
)


def _facts(record: ProblemRecord) -> Iterator[tuple[StrOrPromise, str]]:
    if cause := _cause(record):
        yield _("Cause"), cause
    if where := record.text("where"):
        yield _("Where"), ", ".join(where)
    yield _("Began"), exactly(record.began_at)
    yield _("Last seen"), exactly(record.seen_at)
    if is_muted(record) and record.muted_until:
        yield _("Muted until"), exactly(record.muted_until)
        yield _("Muted by"), Story().who(record.muted_by)
        yield _("Reason"), record.mute_reason
    if record.link:
        yield _("Page"), link(record.link, str(_("Open")))


class ProblemHistory(RowList):
    def get_queryset(self, *args: object, **options: object) -> Any:
        return super().get_queryset(*args, **options).closed().exclude(kind__in=SUMS)


@admin.register(ProblemRecord)
class ProblemRecordAdmin(ReadOnlyAdmin):
    menu = DASHBOARD.tab(1)
    list_display = [title, severity, size, began, ended, lasted]
    filters = FilterSet((SEVERITIES,))
    search_fields = ["texts__icontains"]
    search_help_text = _("A part of a problem")
    list_before_template = "admin/console/problems_intro.html"
    ordering = ["-closed_at", "-id"]
    list_class = ProblemHistory

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        user = request.user
        lines = {
            "now": now(),
            "problems": triage(user),
            "records": ProblemRecord.objects.to_mute(user),
            "with_mute": True,
        }
        response: HttpResponse = super().changelist_view(request, lines)
        return response

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProblemRecord]:
        return ProblemRecord.objects.seen_by(request.user)

    @transaction.atomic  # a mute and its record
    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        record = find_object(self, request, object_id)
        if request.method == "POST" and not may_mute(request.user):
            raise PermissionDenied
        rows, form = ProblemRecord.objects.filter(pk=record.pk), MuteForm(request.POST or None)
        if "unmute" in request.POST:
            changed, note, message = rows.unmute(), "Unmuted.", _("The mute is over.")
        elif request.method == "POST" and form.is_valid():
            reason, hours = form.cleaned_data["reason"], form.cleaned_data["hours"]
            changed = rows.mute(reason=reason, until=Now() + timedelta(hours=int(hours)))
            note, message = f"Muted for {hours} hours: {reason}", _("The alerts are muted.")
        else:
            return self._page(request, record, form)
        if changed:
            self.log_change(request, record, note)
            messages.success(request, message)
        else:
            messages.info(request, _("Nothing was changed: the problem is over."))
        return HttpResponseRedirect(reverse("admin:index"))

    def _page(self, request: HttpRequest, record: ProblemRecord, form: MuteForm) -> HttpResponse:
        muted, is_open = is_muted(record), record.status == ProblemState.OPEN
        effect = _("No alerts are sent about it until then. The dashboard still shows it.")
        return confirm_page(
            self,
            request,
            title=_("Alerts about this problem") if muted or not is_open else _("Mute the alerts about this problem?"),
            sentences=[record.title, *([effect] if is_open and not muted else [])],
            facts=[*_facts(record)],
            form=form if is_open and not muted else None,
            kept={"unmute": "1"} if muted else {},
            submit=(_("Unmute") if muted else _("Mute")) if is_open and may_mute(request.user) else "",
            back=self.address("changelist"),
        )
