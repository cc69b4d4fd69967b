"""Conversions on the dashboard: counts of the user's sites, and the row that has waited longest."""

from typing import TYPE_CHECKING

from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import JSONObject
from django.utils.translation import gettext_lazy

from kilit.console.dashboard.panels import Panel, PanelItem
from ociqueue.admin.base.columns import row_name
from ociqueue.models import Conversion, Site
from ociqueue.models.sending import OLDEST_FIRST
from ociqueue.queue import QUEUE

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


class ConversionPanel(Panel):
    icon = "ads_click"
    queue = QUEUE
    oldest_means = gettext_lazy("Since the oldest unclaimed conversion arrived, on any site, including paused ones.")

    def oldest(self, user: "User | AnonymousUser") -> PanelItem | None:
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
        return PanelItem(
            row_name(Conversion(pk=row["pk"], source_key=row["key"])), self.row_address(row["pk"]), site, since
        )
