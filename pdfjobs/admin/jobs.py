"""PDF jobs in the console: rows to look at, their file, and the verbs of an operator."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import path, reverse
from django.views.decorators.clickjacking import xframe_options_sameorigin

from lifecycle.admin import ReadOnlyAdmin
from lifecycle.models import Event
from pdfjobs.admin import confirming, showing
from pdfjobs.admin.actions import ACTIONS, EXPIRE, RETRY
from pdfjobs.admin.dress import button
from pdfjobs.admin.listing import FILTERS, CappedChangeList, CappedPaginator, search
from pdfjobs.models import PdfJob
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.rendering import sandbox_warning
from pdfjobs.serving import FileLost, serve
from pdfjobs.states import PDF_JOBS, Status
from pdfjobs.store import StoreDown

MOST_EVENTS = 500
ROW_BUTTONS = {"retry_row": RETRY, "expire_row": EXPIRE}


@admin.register(PdfJob)
class PdfJobAdmin(ReadOnlyAdmin):
    """All jobs, newest first."""

    list_display = showing.COLUMNS
    list_filter = FILTERS
    list_select_related = ["owner"]
    list_per_page = 50
    list_max_show_all = 0
    list_disable_select_all = True
    list_fullwidth = True
    list_before_template = "admin/pdfjobs/sandbox.html"
    list_after_template = "admin/pdfjobs/room_for_actions.html"
    ordering = ["-id"]
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    search_fields = ["=id"]  # shows the box; `search` says what is found
    search_help_text = "A whole job id or job key, or an owner's name"
    actions = ["retry", "expire"]  # type: ignore[assignment]
    actions_detail = list(ROW_BUTTONS)
    change_form_after_template = "admin/pdfjobs/preview.html"
    change_form_outer_after_template = "admin/pdfjobs/timeline.html"
    readonly_fields = showing.READ_ONLY

    # What is shown

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[CappedChangeList]:
        """List without a total."""
        return CappedChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: PdfJobQuerySet, search_term: str
    ) -> tuple[PdfJobQuerySet, bool]:
        """Find whole ids, keys and names only."""
        return (search(queryset, search_term) if search_term.strip() else queryset), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Take the filters that are offered, and no others from the address."""
        return lookup in {offered.parameter_name for offered in FILTERS}

    def get_fieldsets(self, request: HttpRequest, obj: PdfJob | None = None) -> list[Any]:
        """Show what there is."""
        return showing.fieldsets(obj) if obj else list(showing.FIELDSETS)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Say when the browser runs without its sandbox."""
        warned = {"sandbox_warning": sandbox_warning(), **(extra_context or {})}
        return super().changelist_view(request, warned)  # type: ignore[no-any-return]

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **options: Any) -> HttpResponse:
        """Add the timeline and the file; Django's own history knows nothing of rows that only verbs move."""
        row = self.get_object(request, unquote(object_id))
        has_file = row is not None and row.status == Status.SUCCEEDED
        options["extra_context"] = {
            "timeline": Event.objects.of(row)[:MOST_EVENTS] if row else [],
            "file_url": reverse("admin:pdfjobs_pdfjob_file", args=[object_id]) if has_file else "",
            "show_history": False,
        }
        return super().change_view(request, object_id, *args, **options)  # type: ignore[no-any-return]

    def file_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Show a job's PDF in the page, to whoever may see the job."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_object(request, object_id)
        if row is None or row.status != Status.SUCCEEDED:
            raise Http404
        try:
            return serve(request, row, as_attachment="download" in request.GET)
        except (FileLost, StoreDown):
            return HttpResponse("The file is not there.", status=410, content_type="text/plain")

    # Actions

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Operators act; viewers see no action."""
        return request.user.has_perm("pdfjobs.operate_pdfjob")

    @admin.action(description=RETRY.label, permissions=["operate"])
    def retry(self, request: HttpRequest, queryset: PdfJobQuerySet) -> HttpResponse | None:
        """Ask before retrying."""
        return confirming.ask_for_selected(self, request, RETRY, queryset)

    @admin.action(description=EXPIRE.label, permissions=["operate"])
    def expire(self, request: HttpRequest, queryset: PdfJobQuerySet) -> HttpResponse | None:
        """Ask before expiring."""
        return confirming.ask_for_selected(self, request, EXPIRE, queryset)

    @button(description=RETRY.title, icon="replay", permissions=["operate"], url_path="retry")
    def retry_row(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before retrying this job."""
        return confirming.ask_for_row(self, request, RETRY, object_id)

    @button(description=EXPIRE.title, icon="delete_forever", danger=True, permissions=["operate"], url_path="expire")
    def expire_row(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask before expiring this job."""
        return confirming.ask_for_row(self, request, EXPIRE, object_id)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Offer the verbs that apply to the job's state, and no others."""
        row = self.get_object(request, unquote(object_id))
        verbs = PDF_JOBS.verbs_from(row.status) if row else ()
        apply = {f"pdfjobs_pdfjob_{name}" for name, action in ROW_BUTTONS.items() if action.verb in verbs}
        return [offered for offered in super().get_actions_detail(request, object_id) if offered.action_name in apply]

    def response_action(self, request: HttpRequest, queryset: PdfJobQuerySet) -> HttpResponse | None:
        """Refuse a selection made by hand of what is no id."""
        try:
            return super().response_action(request, queryset)  # type: ignore[no-any-return]
        except ValidationError:
            raise BadRequest("Not an id.") from None

    def get_urls(self) -> list[Any]:
        """Give the file an address, and the actions the one that their confirmations are sent to."""
        view = self.admin_site.admin_view
        act = view(lambda request, verb: confirming.act(self, request, ACTIONS.get(verb)))
        return [
            path("act/<str:verb>/", act, name="pdfjobs_pdfjob_act"),
            path("<str:object_id>/file/", xframe_options_sameorigin(view(self.file_view)), name="pdfjobs_pdfjob_file"),
            *super().get_urls(),
        ]
