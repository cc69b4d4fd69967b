"""What the admins of conversions and adjustments have in common: rows of sites that are uploaded to Google."""

from typing import Any

from django.contrib.admin.utils import unquote
from django.http import HttpRequest

from kilit.console.lists.listing import CappedChangeList
from kilit.console.queue_admin import QueueAdmin
from ociqueue.admin.base import columns
from ociqueue.admin.rows import blockers
from ociqueue.models import Circuit, Site
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.operating.presenters import with_upload
from ociqueue.operating.site_health import open_circuits


class UploadableChangeList(CappedChangeList):
    """Fetches the open circuits for all rows of a page at once."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        circuits = open_circuits({row.site_id for row in self.result_list})
        by_name = {(circuit.site_id, circuit.action): circuit for circuit in circuits}
        for row in self.result_list:
            row.held_by = by_name.get((row.site_id, Circuit.EVERY_ACTION)) or by_name.get((row.site_id, row.action))


class UploadableAdmin(QueueAdmin):
    state_badge = staticmethod(columns.state_badge)
    find_holdings = staticmethod(blockers.holdings)
    most_acted_on = 5_000
    scope_filter = "site"

    # What is shown

    def get_queryset(self, request: HttpRequest) -> UploadableQuerySet[Any]:
        rows: UploadableQuerySet[Any] = super().get_queryset(request)
        return with_upload(rows.visible_to(request.user)).select_related("site")

    def get_changelist(self, request: HttpRequest, **options: object) -> type[CappedChangeList]:
        return UploadableChangeList

    # Actions

    def acted_on_by(self, request: HttpRequest) -> UploadableQuerySet[Any]:
        rows: UploadableQuerySet[Any] = self.model._default_manager.filter(site__in=Site.objects.run_by(request.user))
        return rows

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        allowed = super().has_operate_permission(request)
        if not allowed or object_id is None:
            return allowed
        pk = self.read_id(unquote(object_id))
        return pk is not None and self.acted_on_by(request).filter(pk=pk).exists()
