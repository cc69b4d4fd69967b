"""Conversions in the console: read-only rows, and the operators' actions."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from django.utils.translation import gettext_lazy as _

from kilit.console.formatting import button
from kilit.console.job_page import JobOffer
from kilit.console.listing import CappedChangeList
from kilit.console.queue_admin import QueueAdmin
from kilit.lock.models.error_groups import Group
from kilit.masking import mask_personal_data
from ociqueue import dead_letters
from ociqueue.admin import blockers, columns, description, imports
from ociqueue.admin.actions import MARK_FAILED, RESET, RETRY
from ociqueue.admin.correcting import correct_page
from ociqueue.corrections import read_id, why_not
from ociqueue.failure_groups import expected_groups, groups_of_wrong_data
from ociqueue.models import Circuit, Conversion, Site
from ociqueue.models.conversion import FAILURES
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.operations import QUEUE
from ociqueue.presenters import with_upload
from ociqueue.site_health import open_circuits


class ConversionChangeList(CappedChangeList):
    """Fetches the open circuits for all rows of a page at once."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        circuits = open_circuits({row.site_id for row in self.result_list})
        by_name = {(circuit.site_id, circuit.action): circuit for circuit in circuits}
        for row in self.result_list:
            row.held_by = by_name.get((row.site_id, Circuit.EVERY_ACTION)) or by_name.get((row.site_id, row.action))


@admin.register(Conversion)
class ConversionAdmin(QueueAdmin):
    queue = QUEUE
    state_badge = staticmethod(columns.state_badge)
    description = description.CONVERSION
    find_blockers = staticmethod(blockers.reasons)
    find_holdings = staticmethod(blockers.holdings)
    failures = FAILURES
    operator_actions = (RETRY, RESET, MARK_FAILED)
    most_acted_on = 5_000
    row_name = staticmethod(columns.row_name)
    scope_filter = "site"
    read_id = staticmethod(read_id)

    list_display = columns.COLUMNS
    search_help_text = _("Source key, order id or click id: the first letters are enough")
    actions_list = ["error_groups", "import_csv", "dead_letters"]
    fieldsets = columns.FIELDSETS
    export_fields = dead_letters.FIELDS
    export_masks = {**dict.fromkeys(Conversion.CLICK_IDS, columns.masked), "errorMessage": mask_personal_data}

    # What is shown

    def get_queryset(self, request: HttpRequest) -> ConversionQuerySet:
        rows: ConversionQuerySet = super().get_queryset(request)
        return with_upload(rows.visible_to(request.user)).select_related("site", "replaces")

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[CappedChangeList]:
        return ConversionChangeList

    # Actions

    def acted_on_by(self, request: HttpRequest) -> ConversionQuerySet:
        return Conversion.objects.filter(site__in=Site.objects.run_by(request.user))

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        allowed = super().has_operate_permission(request)
        if not allowed or object_id is None:
            return allowed
        pk, mine = self.read_id(unquote(object_id)), Site.objects.run_by(request.user)
        return pk is not None and Conversion.objects.filter(pk=pk, site__in=mine).exists()

    def offers(self, request: HttpRequest, row: Any) -> dict[str, JobOffer]:
        offered = super().offers(request, row)
        if not self.has_operate_permission(request, str(row.pk)) or why_not(row):
            return offered
        correct = JobOffer(_("Correct and resend"), "edit", self.address("correct", row.pk))
        return {"correct": correct, **offered}

    def correct(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return correct_page(self, request, object_id)

    def export_lines(self, rows: ConversionQuerySet, **options: Any) -> Iterator[str]:
        """Leave out what was corrected already: the file is there to be corrected and imported."""
        return super().export_lines(rows.not_replaced(), **options)

    def group_advice(self, names: list[str]) -> dict[str, str]:
        text = _(
            "The data is wrong, so a retry would fail again. Correct a row on its page, or export these rows, correct "
            "the file and import it."
        )
        return dict.fromkeys(groups_of_wrong_data(names), str(text))

    def expected_groups(self, groups: list[Group]) -> set[str]:
        return expected_groups({group.name: group.code for group in groups})

    # Pages of the list

    @button(description=_("Import CSV"), icon="upload", permissions=["operate"], url_path="import")
    def import_csv(self, request: HttpRequest) -> HttpResponse:
        return imports.import_page(self, request)

    def import_template(self, request: HttpRequest) -> HttpResponseBase:
        if not self.has_operate_permission(request):
            raise PermissionDenied
        return imports.template_file(request)

    def get_urls(self) -> list[Any]:
        template, correct = map(self.admin_site.admin_view, (self.import_template, self.correct))
        return [
            path("import/template/", template, name=self.view_name("import_template")),
            path("<path:object_id>/correct/", correct, name=self.view_name("correct")),
            *super().get_urls(),
        ]
