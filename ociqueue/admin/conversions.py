"""Conversions in the console: rows to look at, and the verbs of an operator."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils import timezone

from lifecycle.console.dress import button
from lifecycle.console.listing import CappedChangeList
from lifecycle.console.queues import QueueAdmin
from ociqueue.admin import imports, showing
from ociqueue.admin.actions import MARK_FAILED, RESET, RETRY
from ociqueue.admin.listing import FILTERS, search
from ociqueue.admin.reach import may_operate
from ociqueue.deadletters import csv_lines
from ociqueue.fixes import read_id
from ociqueue.insight import with_upload
from ociqueue.models import Circuit, Conversion, Site
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.overview import open_circuits
from ociqueue.states import CONVERSIONS


class ConversionChangeList(CappedChangeList):
    """Fetches at once what holds the rows of a page back."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        """Lay the open circuits beside the rows."""
        super().get_results(request)
        self.result_list = list(self.result_list)
        circuits = open_circuits({row.site_id for row in self.result_list})
        by_name = {(circuit.site_id, circuit.action): circuit for circuit in circuits}
        for row in self.result_list:
            row.held_by = by_name.get((row.site_id, Circuit.EVERY_ACTION)) or by_name.get((row.site_id, row.action))


@admin.register(Conversion)
class ConversionAdmin(QueueAdmin):
    """Conversions of the user's sites, newest first."""

    table = CONVERSIONS
    buttons = {"retry_row": RETRY, "reset_row": RESET, "mark_failed_row": MARK_FAILED}
    most_acted_on = 5_000

    list_display = showing.COLUMNS
    list_filter = FILTERS
    search_help_text = "A whole id, order id or click id"
    actions = ["retry", "reset", "mark_failed"]  # type: ignore[assignment]
    actions_list = ["import_csv", "dead_letters"]
    actions_detail = list(buttons)
    fieldsets = showing.FIELDSETS
    readonly_fields = showing.READ_ONLY

    # What is shown

    def get_queryset(self, request: HttpRequest) -> ConversionQuerySet:
        """Membership narrows the rows; sites are named one by one, so that the indexes by site serve every list."""
        sites = list(Site.objects.seen_by(request.user).values_list("pk", flat=True))
        return with_upload(super().get_queryset(request)).select_related("site").filter(site__in=sites)

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[CappedChangeList]:
        """List without a total, and with what holds rows back."""
        return ConversionChangeList

    def search(self, rows: ConversionQuerySet, text: str) -> ConversionQuerySet:
        """Find whole ids only."""
        return search(rows, text)

    # Actions

    def read_id(self, text: str) -> UUID | None:
        """Return the id that `seal_<uuid>` or a bare uuid names."""
        return read_id(text)

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Operators act, on rows of the sites they run; viewers see no action."""
        if not may_operate(request.user):
            return False
        if object_id is None:
            return True
        pk, mine = self.read_id(unquote(object_id)), Site.objects.run_by(request.user)
        return pk is not None and Conversion.objects.filter(pk=pk, site__in=mine).exists()

    @admin.action(description=RETRY.label, permissions=["operate"])
    def retry(self, request: HttpRequest, queryset: ConversionQuerySet) -> HttpResponse | None:
        """Ask before retrying."""
        return self.ask_for_selected(request, RETRY, queryset)

    @admin.action(description=RESET.label, permissions=["operate"])
    def reset(self, request: HttpRequest, queryset: ConversionQuerySet) -> HttpResponse | None:
        """Ask before resetting."""
        return self.ask_for_selected(request, RESET, queryset)

    @admin.action(description=MARK_FAILED.label, permissions=["operate"])
    def mark_failed(self, request: HttpRequest, queryset: ConversionQuerySet) -> HttpResponse | None:
        """Ask before failing."""
        return self.ask_for_selected(request, MARK_FAILED, queryset)

    @button(description=RETRY.title, icon="replay", permissions=["operate"], url_path="retry")
    def retry_row(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before retrying this row."""
        return self.ask_for_row(request, RETRY, object_id)

    @button(description=RESET.title, icon="restart_alt", permissions=["operate"], url_path="reset")
    def reset_row(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before resetting this row."""
        return self.ask_for_row(request, RESET, object_id)

    @button(description=MARK_FAILED.title, icon="block", danger=True, permissions=["operate"], url_path="mark-failed")
    def mark_failed_row(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before failing this row."""
        return self.ask_for_row(request, MARK_FAILED, object_id)

    # Pages of the list

    @button(description="Import CSV", icon="upload", permissions=["operate"], url_path="import")
    def import_csv(self, request: HttpRequest) -> HttpResponse:
        """Store conversions from a file (OCI-7)."""
        return imports.import_page(self, request)

    @button(description="Dead letters (CSV)", icon="download", permissions=["view"], url_path="dead-letters")
    def dead_letters(self, request: HttpRequest) -> StreamingHttpResponse:
        """Stream the failed rows that the list's filters leave (OCI-27)."""
        asked = request.GET.copy()
        for name in ("status", "p"):
            asked.pop(name, None)
        request.GET = asked  # type: ignore[assignment]
        rows = self.get_changelist_instance(request).get_queryset(request)
        name = f"dead-letters-{timezone.now():%Y-%m-%d}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
        return StreamingHttpResponse(csv_lines(rows), content_type="text/csv; charset=utf-8", headers=headers)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Let the dead letters keep the list's filters."""
        response = super().changelist_view(request, extra_context)
        for offered in getattr(response, "context_data", {}).get("actions_list", []):
            if offered["path"].endswith("/dead-letters/") and request.GET:
                offered["path"] += f"?{request.GET.urlencode()}"
        return response  # type: ignore[no-any-return]
