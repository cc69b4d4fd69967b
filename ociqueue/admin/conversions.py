"""Conversions in the console: rows to look at, and the verbs of an operator."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from kilit.console.blockers import Reason
from kilit.console.formatting import button
from kilit.console.listing import CappedChangeList
from kilit.console.queues import QueueAdmin
from kilit.lock.models import Event
from ociqueue import dead_letters
from ociqueue.admin import blockers, columns, imports
from ociqueue.admin.actions import MARK_FAILED, RESET, RETRY
from ociqueue.admin.badges import state_badge
from ociqueue.admin.listing import FILTERS, search
from ociqueue.admin.reach import may_operate
from ociqueue.fixes import read_id
from ociqueue.models import Circuit, Conversion, Site
from ociqueue.models.conversion import FAILURES
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.overview import open_circuits
from ociqueue.presenters import with_upload
from ociqueue.states import CONVERSIONS

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


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
    failures = FAILURES
    operations = (RETRY, RESET, MARK_FAILED)
    most_acted_on = 5_000

    list_display = columns.COLUMNS
    list_filter = FILTERS
    search_help_text = _("A whole id, order id, click id or source key")
    actions_list = ["error_groups", "import_csv", "dead_letters"]
    fieldsets = columns.FIELDSETS
    readonly_fields = columns.READ_ONLY
    dead_letter_columns = dead_letters.COLUMNS
    dead_letter_cells = staticmethod(dead_letters.cells)

    # What is shown

    def get_queryset(self, request: HttpRequest) -> ConversionQuerySet:
        """Membership narrows the rows; sites are named one by one, so that the indexes by site serve every list."""
        sites = list(Site.objects.seen_by(request.user).values_list("pk", flat=True))
        return with_upload(super().get_queryset(request)).select_related("site").filter(site__in=sites)

    def scopes_seen_by(self, user: "User | AnonymousUser") -> list[str] | None:
        """Membership narrows error groups and bulk actions too."""
        return Site.objects.scopes_seen_by(user)

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[CappedChangeList]:
        return ConversionChangeList

    def search(self, rows: ConversionQuerySet, text: str) -> ConversionQuerySet:
        return search(rows, text)

    def badge(self, state: str) -> SafeString:
        """Return a state as all pages show it."""
        return state_badge(state)

    def reasons(self, row: Conversion, timeline: list[Event]) -> list[Reason]:
        return list(blockers.reasons(row, timeline))

    def holdings(self, row: Conversion) -> list[tuple[str, Any]]:
        """Return what it holds, or what holds it."""
        return blockers.holdings(row)

    # Actions

    def read_id(self, text: str) -> UUID | None:
        """Return the id that `seal_<uuid>` or a bare uuid names."""
        return read_id(text)

    def may_act(self, user: "User | AnonymousUser") -> bool:
        """Operators act, on rows of the sites they run."""
        return super().may_act(user) and may_operate(user)

    def acted_on_by(self, request: HttpRequest) -> ConversionQuerySet:
        """Seeing a site's rows is not running it."""
        return Conversion.objects.filter(site__in=Site.objects.run_by(request.user))

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Operators act, on rows of the sites they run; viewers see no action."""
        if not super().has_operate_permission(request) or object_id is None:
            return self.may_act(request.user)
        pk, mine = self.read_id(unquote(object_id)), Site.objects.run_by(request.user)
        return pk is not None and Conversion.objects.filter(pk=pk, site__in=mine).exists()

    # Pages of the list

    @button(description=_("Import CSV"), icon="upload", permissions=["operate"], url_path="import")
    def import_csv(self, request: HttpRequest) -> HttpResponse:
        return imports.import_page(self, request)
