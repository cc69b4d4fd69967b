"""Conversions in the console: rows to look at, and the verbs of an operator."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest, ValidationError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path
from django.utils import timezone

from lifecycle.admin import ReadOnlyAdmin
from lifecycle.models import Event
from ociqueue.admin import confirming, imports, showing
from ociqueue.admin.actions import ACTIONS, MARK_FAILED, RESET, RETRY
from ociqueue.admin.dress import button
from ociqueue.admin.listing import FILTERS, CappedChangeList, CappedPaginator, search
from ociqueue.admin.reach import may_operate
from ociqueue.deadletters import csv_lines
from ociqueue.fixes import read_id
from ociqueue.insight import with_upload
from ociqueue.models import Circuit, Conversion, Site
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.overview import open_circuits
from ociqueue.states import CONVERSIONS

MOST_EVENTS = 500
ROW_BUTTONS = {"retry_row": RETRY, "reset_row": RESET, "mark_failed_row": MARK_FAILED}


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
class ConversionAdmin(ReadOnlyAdmin):
    """Conversions of the user's sites, newest first."""

    list_display = showing.COLUMNS
    list_filter = FILTERS
    list_per_page = 50
    list_max_show_all = 0
    list_disable_select_all = True
    list_fullwidth = True
    list_after_template = "admin/ociqueue/room_for_actions.html"
    ordering = ["-id"]
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    search_fields = ["=id"]  # shows the box; `search` says what is found
    search_help_text = "A whole id, order id or click id"
    actions = ["retry", "reset", "mark_failed"]  # type: ignore[assignment]
    actions_list = ["import_csv", "dead_letters"]
    actions_detail = list(ROW_BUTTONS)
    change_form_outer_after_template = "admin/ociqueue/timeline.html"
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

    def get_search_results(
        self, request: HttpRequest, queryset: ConversionQuerySet, search_term: str
    ) -> tuple[ConversionQuerySet, bool]:
        """Find whole ids only."""
        return (search(queryset, search_term) if search_term.strip() else queryset), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Take the filters that are offered, and no others from the address."""
        return lookup in {offered.parameter_name for offered in FILTERS}

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        """Add the timeline; Django's own history knows nothing of rows that only verbs move."""
        row = self.get_object(request, unquote(object_id))
        timeline = Event.objects.of(row)[:MOST_EVENTS] if row else []
        options["extra_context"] = {"timeline": timeline, "show_history": False}
        return super().change_view(request, object_id, *args, **options)  # type: ignore[no-any-return]

    # Actions

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Operators act, on rows of the sites they run; viewers see no action."""
        if not may_operate(request.user):
            return False
        if object_id is None:
            return True
        pk, mine = read_id(unquote(object_id)), Site.objects.run_by(request.user)
        return pk is not None and Conversion.objects.filter(pk=pk, site__in=mine).exists()

    @admin.action(description=RETRY.label, permissions=["operate"])
    def retry(self, request: HttpRequest, queryset: ConversionQuerySet) -> HttpResponse | None:
        """Ask before retrying."""
        return confirming.ask_for_selected(self, request, RETRY, queryset)

    @admin.action(description=RESET.label, permissions=["operate"])
    def reset(self, request: HttpRequest, queryset: ConversionQuerySet) -> HttpResponse | None:
        """Ask before resetting."""
        return confirming.ask_for_selected(self, request, RESET, queryset)

    @admin.action(description=MARK_FAILED.label, permissions=["operate"])
    def mark_failed(self, request: HttpRequest, queryset: ConversionQuerySet) -> HttpResponse | None:
        """Ask before failing."""
        return confirming.ask_for_selected(self, request, MARK_FAILED, queryset)

    @button(description=RETRY.title, icon="replay", permissions=["operate"], url_path="retry")
    def retry_row(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before retrying this row."""
        return confirming.ask_for_row(self, request, RETRY, object_id)

    @button(description=RESET.title, icon="restart_alt", permissions=["operate"], url_path="reset")
    def reset_row(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before resetting this row."""
        return confirming.ask_for_row(self, request, RESET, object_id)

    @button(description=MARK_FAILED.title, icon="block", danger=True, permissions=["operate"], url_path="mark-failed")
    def mark_failed_row(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before failing this row."""
        return confirming.ask_for_row(self, request, MARK_FAILED, object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Offer the verbs that apply to the row's state, and no others."""
        row = self.get_object(request, unquote(object_id))
        verbs = CONVERSIONS.verbs_from(row.status) if row else ()
        apply = {f"ociqueue_conversion_{name}" for name, action in ROW_BUTTONS.items() if action.verb in verbs}
        return [offered for offered in super().get_actions_detail(request, object_id) if offered.action_name in apply]

    def response_action(self, request: HttpRequest, queryset: ConversionQuerySet) -> HttpResponse | None:
        """Refuse a selection made by hand of what is no id."""
        try:
            return super().response_action(request, queryset)  # type: ignore[no-any-return]
        except ValidationError:
            raise BadRequest("Not an id.") from None

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

    def get_urls(self) -> list[Any]:
        """Give the actions the address that their confirmations are sent to."""
        act = self.admin_site.admin_view(lambda request, verb: confirming.act(self, request, ACTIONS.get(verb)))
        return [path("act/<str:verb>/", act, name="ociqueue_conversion_act"), *super().get_urls()]
