"""Conversions on the dashboard: of the sites that a user sees, and what keeps them from sending."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from django.db.models import F, Subquery
from django.db.models.expressions import OuterRef
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.panels import Concern, Item, Panel, register
from ociqueue.admin.badges import COLOURS
from ociqueue.admin.circuits import held, next_probe
from ociqueue.models import Circuit, Conversion, Site
from ociqueue.models.queryset import OLDEST_FIRST, ConversionQuerySet
from ociqueue.models.site import SiteQuerySet
from ociqueue.overview import silent
from ociqueue.states import CONVERSIONS, Status, SyncMethod

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

SHOWN = 5  # sites of a kind
MOST_COUNTED = 1000


class ConversionPanel(Panel):
    title = gettext_lazy("Offline conversions")
    icon = "ads_click"
    table, model, colours = CONVERSIONS, Conversion, COLOURS
    well, badly = (Status.COMPLETED,), (Status.FAILED,)
    oldest_means = gettext_lazy("Since the oldest that nobody has claimed came in, on any site, paused ones included.")
    stuck_means = gettext_lazy("Claimed 15 minutes ago or longer, and never reported; the next sweep brings them back.")

    def scopes_seen_by(self, user: "User | AnonymousUser") -> list[str] | None:
        """Membership narrows the numbers; superusers see all."""
        return Site.objects.scopes_seen_by(user)

    def oldest(self, user: "User | AnonymousUser") -> Item | None:
        """Ask each site for its own oldest, which its index knows; together they may have rows by the million."""
        first = Conversion.objects.waiting().filter(site=OuterRef("pk")).order_by(*OLDEST_FIRST)
        sites = self._sites(user).annotate(
            oldest=Subquery(first.values("pk")[:1]), since=Subquery(first.values("created_at")[:1])
        )
        found = sites.order_by(F("since").asc(nulls_last=True)).values_list("name", "oldest", "since").first()
        if found is None or found[2] is None:
            return None
        return Item(found[0], self.row_address(found[1]), since=found[2])

    def stuck(self, user: "User | AnonymousUser") -> ConversionQuerySet:
        """Return what the recover sweep would take now."""
        rows = Conversion.objects.stuck().select_related("site").order_by("claimed_at")
        return rows if user.is_superuser else rows.filter(site__in=list(self._sites(user).values_list("pk", flat=True)))

    def item(self, row: Conversion) -> Item:
        """Name the site, and since when its sender has the row."""
        return Item(row.site.name, self.row_address(row.pk), f"…{str(row.pk)[-12:]}", row.claimed_at)

    def concerns(self, user: "User | AnonymousUser", totals: Mapping[str, int]) -> Iterator[Concern]:
        """Return the sites that do not send, and why."""
        sites = self._sites(user)
        yield self._about(
            sites.filter(is_paused=True),
            title=_("Paused sites"),
            hint=_("Nothing is handed out or sent until somebody ends the pause."),
            colour="warning",
            filters={"is_paused__exact": "1"},
        )
        yield self._open_circuits(sites)
        yield self._about(
            sites.filter(sync_method=SyncMethod.API, credentials=None),
            title=_("Sites without a login"),
            hint=_("They send through the Google Ads API, and nothing is sent until credentials are stored."),
            colour="danger",
            page="credentials",
        )
        yield self._about(
            silent(sites),
            title=_("Silent scripts"),
            hint=_("Rows wait, and the site's script has not come for 24 hours."),
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
            Item(
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
            Item(
                f"{circuit.site.name}: {held(circuit)}" if circuit.action else circuit.site.name,
                reverse("admin:ociqueue_site_circuit", args=[circuit.site_id]),
                _("%(code)s; next probe %(when)s") % {"code": circuit.code, "when": next_probe(circuit)},
                circuit.opened_at,
            )
            for circuit in circuits.select_related("site").order_by("opened_at")[: SHOWN + 1]
        ]
        total = len(items) if len(items) <= SHOWN else circuits[:MOST_COUNTED].count()
        hint = _("The account is at fault, so rows wait unharmed; a probe tries again by itself.")
        everything = reverse("admin:ociqueue_site_changelist", query={"sync_method__exact": SyncMethod.API})
        return Concern(_("Open circuits"), hint, items[:SHOWN], "danger", total, everything)

    @staticmethod
    def _sites(user: "User | AnonymousUser") -> SiteQuerySet:
        return Site.objects.seen_by(user)


register(ConversionPanel())
