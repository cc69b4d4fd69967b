"""The problems of the dashboard with their history; the page of one mutes its alerts for a while."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.utils import unquote
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.safestring import SafeString
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminSelectWidget

from kilit.batches.filters import ChoiceFilter, FilterSet
from kilit.console.formatting import column, exactly, link, number, two_lines, with_code
from kilit.console.jobs.timeline import Story
from kilit.console.lists.confirming import ReasonForm, confirm_page, reason_field
from kilit.console.lists.listing import ReadOnlyAdmin, RowList
from kilit.console.menu import DASHBOARD
from kilit.problems.kinds import SUMS
from kilit.problems.models import ProblemRecord
from kilit.problems.queues import triage
from kilit.problems.registry import Severity
from kilit.problems.states import ProblemState
from kilit.spans import format_span

SPANS = {
    "1": gettext_lazy("1 hour"),
    "4": gettext_lazy("4 hours"),
    "24": gettext_lazy("1 day"),
    "72": gettext_lazy("3 days"),
    "168": gettext_lazy("1 week"),
}


class MuteForm(ReasonForm):
    reason = reason_field(most=200)
    hours = forms.ChoiceField(
        label=gettext_lazy("For"), choices=list(SPANS.items()), initial="4", widget=UnfoldAdminSelectWidget
    )


def may_mute(user: User | AnonymousUser) -> bool:
    return bool(user.has_perm("problems.operate_problemrecord"))


def is_muted(record: ProblemRecord) -> bool:
    return record.status == ProblemState.OPEN and record.muted_until is not None and record.muted_until > now()


def _cause(record: ProblemRecord) -> SafeString:
    return with_code(record.text("cause"), record.text("code"))


title = column("problem", gettext_lazy("problem"), lambda record: two_lines(record.title, _cause(record)))
severity = column(
    "severity",
    gettext_lazy("severity"),
    lambda record: Severity(record.severity).label,
    sort_key=lambda record: record.severity,
)
size = column("count", gettext_lazy("count"), lambda record: number(record.count), sort_key=lambda record: record.count)
began = column("began", gettext_lazy("began"), lambda record: exactly(record.began_at))
ended = column("ended", gettext_lazy("ended"), lambda record: exactly(record.seen_at))
lasted = column(
    "lasted", gettext_lazy("lasted"), lambda record: format_span(record.lasted), sort_key=lambda record: record.lasted
)
SEVERITIES = ChoiceFilter(
    name="severity",
    title=gettext_lazy("severity"),
    column="severity",
    choices=[(str(value), label) for value, label in Severity.choices],
)


def _facts(record: ProblemRecord) -> Iterator[tuple[str, str]]:
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
        yield _("Page"), link(record.link, _("Open"))


class ProblemHistory(RowList):
    def get_queryset(self, *args: object, **options: object) -> Any:
        return super().get_queryset(*args, **options).closed().exclude(kind__in=SUMS)


class ProblemRecordAdmin(ReadOnlyAdmin):
    menu = DASHBOARD.tab(1)
    list_display = [title, severity, size, began, ended, lasted]
    filters = FilterSet((SEVERITIES,))
    search_fields = ["texts"]
    search_help_text = gettext_lazy("A part of a problem")
    list_before_template = "admin/console/problems_intro.html"
    ordering = ["-closed_at", "-id"]

    def get_changelist(self, request: HttpRequest, **options: object) -> type[RowList]:
        return ProblemHistory

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        user = request.user
        lines = {"now": now(), "problems": triage(user), "records": ProblemRecord.objects.to_mute(user)}
        response: HttpResponse = super().changelist_view(request, lines)
        return response

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProblemRecord]:
        return ProblemRecord.objects.seen_by(request.user)

    def get_urls(self) -> list[object]:
        mute = self.admin_site.admin_view(self.mute)
        return [path("<path:object_id>/mute/", mute, name="problems_problemrecord_mute"), *super().get_urls()]

    @transaction.atomic  # a mute and its record
    def mute(self, request: HttpRequest, object_id: str) -> HttpResponse:
        record = self.get_object(request, unquote(object_id))
        if record is None:
            raise Http404
        if request.method == "POST" and not may_mute(request.user):
            raise PermissionDenied
        if "unmute" in request.POST:
            ended = ProblemRecord.objects.filter(pk=record.pk).unmute()
            return self._end(request, record, ended, note="Unmuted.", message=_("The mute is over."))
        form = MuteForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            reason, until = form.cleaned_data["reason"], Now() + timedelta(hours=int(form.cleaned_data["hours"]))
            muted = ProblemRecord.objects.filter(pk=record.pk).mute(reason=reason, until=until)
            note = f"Muted for {form.cleaned_data['hours']} hours: {reason}"
            return self._end(request, record, muted, note=note, message=_("The alerts are muted."))
        return self._page(request, record, form)

    def change_view(self, request: HttpRequest, object_id: str, *args: object, **options: object) -> HttpResponse:
        """Lead to the one page that a problem has; links of the activity come here."""
        if self.get_object(request, unquote(object_id)) is None:
            raise Http404
        return HttpResponseRedirect(reverse("admin:problems_problemrecord_mute", args=[object_id]))

    def _page(self, request: HttpRequest, record: ProblemRecord, form: MuteForm) -> HttpResponse:
        muted, is_open = is_muted(record), record.status == ProblemState.OPEN
        effect = _("No alerts are sent about it meanwhile. The dashboard goes on showing it.")
        return confirm_page(
            self,
            request,
            title=_("Alerts about this problem") if muted or not is_open else _("Mute the alerts about this problem?"),
            sentences=[record.title, *([effect] if is_open and not muted else [])],
            facts=[*_facts(record)],
            form=form if is_open and not muted else None,
            kept={"unmute": "1"} if muted else {},
            submit=(_("Unmute") if muted else _("Mute")) if is_open and may_mute(request.user) else "",
            back=reverse("admin:problems_problemrecord_changelist"),
        )

    def _end(
        self, request: HttpRequest, record: ProblemRecord, changed: int, *, note: str, message: str
    ) -> HttpResponse:
        if changed:
            user = cast("User", request.user)
            rows = ProblemRecord.objects.filter(pk=record.pk)
            LogEntry.objects.log_actions(user.pk, rows, CHANGE, note, single_object=True)
            messages.success(request, message)
        else:
            messages.info(request, _("Nothing was changed: the problem is over."))
        return HttpResponseRedirect(reverse("admin:index"))
