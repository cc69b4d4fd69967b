"""Conversions on the dashboard: counts of the user's sites, and what keeps them from sending."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from django.db.models import F, Subquery
from django.db.models.expressions import OuterRef
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.panels import Concern, Panel, PanelItem
from ociqueue.admin.badges import COLOURS
from ociqueue.admin.circuits import next_probe, scope_label
from ociqueue.models import Circuit, Conversion, Site
from ociqueue.models.queryset import OLDEST_FIRST, ConversionQuerySet
from ociqueue.models.site import SiteQuerySet
from ociqueue.site_health import with_silent_script, without_credentials
from ociqueue.states import CONVERSIONS, ConversionStatus, SyncMethod

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

SHOWN = 5  # sites of a kind
MOST_COUNTED = 1000


class ConversionPanel(Panel):
    title = gettext_lazy("Offline conversions")
    icon = "ads_click"
    table, model, colours = CONVERSIONS, Conversion, COLOURS
    well, badly = (ConversionStatus.COMPLETED,), (ConversionStatus.FAILED,)
    oldest_means = gettext_lazy("Since the oldest unclaimed conversion arrived, on any site, including paused ones.")
    stuck_means = gettext_lazy("Claimed over 15 minutes ago and not reported; the next scheduled task takes them back.")

    def scopes_seen_by(self, user: "User | AnonymousUser") -> list[str] | None:
        return Site.objects.scopes_seen_by(user)

    def oldest(self, user: "User | AnonymousUser") -> PanelItem | None:
        """Ask each site for its own oldest row, which an index has; together they may have millions."""
        first = Conversion.objects.waiting().filter(site=OuterRef("pk")).order_by(*OLDEST_FIRST)
        sites = self._sites(user).annotate(
            oldest=Subquery(first.values("pk")[:1]), since=Subquery(first.values("created_at")[:1])
        )
        found = sites.order_by(F("since").asc(nulls_last=True)).values_list("name", "oldest", "since").first()
        if found is None or found[2] is None:
            return None
        return PanelItem(found[0], self.row_address(found[1]), since=found[2])

    def stuck(self, user: "User | AnonymousUser") -> ConversionQuerySet:
        rows = Conversion.objects.stuck().select_related("site").order_by("claimed_at")
        return rows if user.is_superuser else rows.filter(site__in=list(self._sites(user).values_list("pk", flat=True)))

    def item(self, row: Conversion) -> PanelItem:
        return PanelItem(row.site.name, self.row_address(row.pk), f"…{str(row.pk)[-12:]}", row.claimed_at)

    def concerns(self, user: "User | AnonymousUser", totals: Mapping[str, int]) -> Iterator[Concern]:
        sites = self._sites(user)
        yield self._about(
            sites.filter(is_paused=True),
            title=_("Paused sites"),
            hint=_("Nothing is exported or sent until the pause ends."),
            colour="warning",
            filters={"is_paused__exact": "1"},
        )
        yield self._open_circuits(sites)
        yield self._about(
            without_credentials(sites),
            title=_("Sites without credentials"),
            hint=_("They use the Google Ads API; nothing is sent until credentials are stored."),
            colour="danger",
            page="credentials",
        )
        yield self._about(
            with_silent_script(sites),
            title=_("Silent scripts"),
            hint=_("Rows wait, and the site's script has not called for 24 hours."),
            colour="danger",
        )

    def _about(
        self,
        sites: SiteQuerySet,
        *,
        title: str,
        hint: str,
        colour: str,
        page: str = "change",
        filters: dict[str, str] | None = None,
    ) -> Concern:
        items = [
            PanelItem(
                site.name,
                reverse(f"admin:ociqueue_site_{page}", args=[site.pk]),
                site.pause_reason,
                getattr(site, "seen_at", None),
            )
            for site in sites[: SHOWN + 1]
        ]
        total = len(items) if len(items) <= SHOWN else sites.order_by()[:MOST_COUNTED].count()
        everything = reverse("admin:ociqueue_site_changelist", query=filters)
        return Concern(title, hint, items[:SHOWN], colour, total, everything)

    def _open_circuits(self, sites: SiteQuerySet) -> Concern:
        circuits = Circuit.objects.open().filter(site__in=sites, site__sync_method=SyncMethod.API)
        items = [
            PanelItem(
                f"{circuit.site.name}: {scope_label(circuit)}" if circuit.action else circuit.site.name,
                reverse("admin:ociqueue_site_circuit", args=[circuit.site_id]),
                _("%(code)s; next probe %(when)s") % {"code": circuit.code, "when": next_probe(circuit)},
                circuit.opened_at,
            )
            for circuit in circuits.select_related("site").order_by("opened_at")[: SHOWN + 1]
        ]
        total = len(items) if len(items) <= SHOWN else circuits[:MOST_COUNTED].count()
        hint = _("Google rejects the account, so rows wait; a probe is sent automatically.")
        everything = reverse("admin:ociqueue_site_changelist", query={"sync_method__exact": SyncMethod.API})
        return Concern(_("Open circuits"), hint, items[:SHOWN], "danger", total, everything)

    @staticmethod
    def _sites(user: "User | AnonymousUser") -> SiteQuerySet:
        return Site.objects.seen_by(user)
