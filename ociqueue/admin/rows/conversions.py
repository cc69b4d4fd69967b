"""Conversions in the console: read-only rows, the operators' actions, and the page that exports their history."""

from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import JSONObject
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.console.formatting import PRIMARY, button
from kilit.console.lists.fields import DaysForm, choice_field
from kilit.console.queue_admin import OldestRow
from kilit.masking import mask_identifiers
from kilit.sites.models import SiteQuerySet
from ociqueue.admin.base import columns
from ociqueue.admin.base.site_header import CONVERSIONS_MENU
from ociqueue.admin.imports import pages as imports
from ociqueue.admin.rows.description import CONVERSION, MARK_FAILED, RESET, RETRY, UploadableAdmin
from ociqueue.admin.rows.row_forms import adjust_page, correct_page
from ociqueue.files import exports as dead_letters
from ociqueue.files.exports import history_response
from ociqueue.intake.corrections import read_id
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import FAILURES
from ociqueue.models.sending import OLDEST_FIRST, UploadableQuerySet
from ociqueue.queue import QUEUE
from ociqueue.schemas.columns import mask_click_id
from ociqueue.schemas.lookups import LONGEST_SPAN
from ociqueue.states import AdjustmentKind

FORMATS = (("csv", gettext_lazy("CSV, for spreadsheets")), ("jsonl", gettext_lazy("JSON lines, for programs")))


class HistoryForm(DaysForm):
    format = choice_field(gettext_lazy("Format"), FORMATS)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        first, last = cleaned.get("first"), cleaned.get("last")
        if first and last and (last - first).days >= LONGEST_SPAN.days:
            raise ValidationError(_("Export at most %(days)s days at once.") % {"days": LONGEST_SPAN.days})
        return cleaned


def history_page(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponseBase:
    named = request.POST.get("site", request.GET.get("site", ""))
    sites = _sites(request, named)
    this_month = {"first": timezone.localdate().replace(day=1), "last": timezone.localdate()}
    form = HistoryForm(request.POST if request.method == "POST" else None, initial=this_month)
    if form.is_valid():
        start, end = form.span()
        file_format = form.cleaned_data["format"]
        return history_response(sites.order_by("name", "pk"), start=start, end=end, file_format=file_format)
    of_site = _("Of the site %(site)s.") % {"site": sites.get()} if named else _("Of all sites that you see.")
    zone = timezone.get_current_timezone_name()
    return model_admin.confirm(
        request,
        title=_("Export conversions"),
        sentences=[
            _("A line for each conversion that was created on these days, in its present state. Click ids are masked."),
            of_site,
            _("Days are those of your time zone, %(zone)s.") % {"zone": zone},
        ],
        form=form,
        kept={"site": named} if named else {},
        submit=_("Download"),
    )


def _sites(request: HttpRequest, named: str) -> SiteQuerySet[Site]:
    sites = Site.objects.seen_by(request.user)
    if not named:
        return sites
    with suppress(ValueError):
        if (site := sites.filter(pk=UUID(named))).exists():
            return site
    raise Http404


@admin.register(Conversion)
class ConversionAdmin(UploadableAdmin):
    menu = CONVERSIONS_MENU
    queue = QUEUE
    failures = FAILURES
    actions = (RETRY, RESET, MARK_FAILED)
    page = CONVERSION
    read_id = staticmethod(read_id)

    list_display = columns.COLUMNS
    search_help_text = gettext_lazy("Source key, order id or click id: the first letters are enough")
    actions_list = ["error_groups", "import_csv", "dead_letters", "history"]
    fieldsets = columns.FIELDSETS
    export_fields = dead_letters.FIELDS
    export_masks = {**dict.fromkeys(Conversion.CLICK_IDS, mask_click_id), "errorMessage": mask_identifiers}
    pages_with_filters = (*UploadableAdmin.pages_with_filters, "/history-file/", "/import/")
    oldest_means = gettext_lazy("Since the oldest unclaimed conversion arrived, on any site, including paused ones.")

    def oldest_row(self, user: User | AnonymousUser) -> OldestRow | None:
        """Ask each site for its own oldest row, which an index has; together they may have millions."""
        first = Conversion.objects.waiting().filter(site=OuterRef("pk")).order_by(*OLDEST_FIRST)
        sites = (
            Site.objects.seen_by(user)
            .active()
            .annotate(
                oldest=Subquery(first.values(name=JSONObject(pk="pk", key="source_key"))[:1]),
                since=Subquery(first.values("created_at")[:1]),
            )
        )
        first_waiting = sites.order_by(F("since").asc(nulls_last=True)).values_list("name", "oldest", "since").first()
        if first_waiting is None or first_waiting[2] is None:
            return None
        site, row, since = first_waiting
        name = columns.row_name(Conversion(pk=row["pk"], source_key=row["key"]))
        return OldestRow(name, self.address("change", row["pk"]), since, site)

    # What is shown

    def get_queryset(self, request: HttpRequest) -> UploadableQuerySet[Any]:
        return super().get_queryset(request).select_related("replaces")

    def rows_to_export(self, failed: Any) -> Any:
        """Leave out what was corrected already: the file is there to be corrected and imported."""
        return failed.not_replaced()

    # Pages of the list

    @button(
        description=gettext_lazy("Import CSV"),
        icon="upload",
        permissions=["operate"],
        url_path="import",
        variant=PRIMARY,
    )
    def import_csv(self, request: HttpRequest) -> HttpResponse:
        return imports.import_page(self, request)

    @button(
        description=gettext_lazy("Export conversions"), icon="history", permissions=["view"], url_path="history-file"
    )
    def history(self, request: HttpRequest) -> HttpResponseBase:
        return history_page(self, request)

    def import_template(self, request: HttpRequest) -> HttpResponseBase:
        if not self.has_operate_permission(request):
            raise PermissionDenied
        return imports.template_file(request)

    def get_urls(self) -> list[object]:
        retract = partial(adjust_page, self, kind=AdjustmentKind.RETRACTION)
        change_value = partial(adjust_page, self, kind=AdjustmentKind.RESTATEMENT)
        return [
            self.route("import/template/", "import_template", self.import_template),
            self.route("<path:object_id>/correct/", "correct", partial(correct_page, self)),
            self.route("<path:object_id>/retract/", "retract", retract),
            self.route("<path:object_id>/change-value/", "change_value", change_value),
            *super().get_urls(),
        ]
