"""Conversions in the console: read-only rows, the operators' actions, and the page that exports their history."""

from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.console.lists.fields import DaysForm, choice_field
from kilit.console.lists.listing import ListPage, RowPage
from kilit.masking import mask_identifiers
from kilit.sites.models import SiteQuerySet
from ociqueue.admin.base import columns
from ociqueue.admin.base.site_header import CONVERSIONS_MENU
from ociqueue.admin.imports import pages as imports
from ociqueue.admin.rows.description import CONVERSION, MARK_FAILED, RESET, RETRY, UploadableAdmin
from ociqueue.admin.rows.row_forms import adjust_page, correct_page
from ociqueue.files import exports as dead_letters
from ociqueue.files.exports import history_response
from ociqueue.models import Conversion, Site
from ociqueue.models.sending import UploadableQuerySet
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
    actions = (RETRY, RESET, MARK_FAILED)
    page = CONVERSION

    list_display = columns.COLUMNS
    search_help_text = gettext_lazy("Source key, order id or click id: the first letters are enough")
    fieldsets = columns.FIELDSETS
    export_fields = dead_letters.FIELDS
    export_masks = {**dict.fromkeys(Conversion.CLICK_IDS, mask_click_id), "errorMessage": mask_identifiers}
    list_pages = {
        **UploadableAdmin.list_pages,
        "import_template": ListPage(imports.template_file, permission="operate", route="import/template"),
        "import_csv": ListPage(
            imports.import_page,
            gettext_lazy("Import CSV"),
            "operate",
            is_primary=True,
            keeps_filters=True,
            route="import",
        ),
        "history": ListPage(history_page, gettext_lazy("Export conversions"), keeps_filters=True, route="history-file"),
    }
    row_pages = {
        "correct": RowPage(correct_page, "operate"),
        "retract": RowPage(partial(adjust_page, AdjustmentKind.RETRACTION), "operate"),
        "change_value": RowPage(partial(adjust_page, AdjustmentKind.RESTATEMENT), "operate"),
    }
    oldest_means = gettext_lazy("Since the oldest unclaimed conversion arrived, on any site, including paused ones.")

    def get_queryset(self, request: HttpRequest) -> UploadableQuerySet[Any]:
        return super().get_queryset(request).select_related("replaces")

    def rows_to_export(self, failed: Any) -> Any:
        """Leave out what was corrected already: the file is there to be corrected and imported."""
        return failed.not_replaced()
