"""Conversions on the dashboard: counts of the user's sites, and what keeps them from sending."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.panels import Concern, Panel, PanelItem
from ociqueue.admin.circuits import next_probe, scope_label
from ociqueue.admin.columns import COLOURS
from ociqueue.models import Circuit, Conversion, Site
from ociqueue.models.queryset import OLDEST_FIRST, ConversionQuerySet
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
        sites = Site.objects.seen_by(user).annotate(
            oldest=Subquery(first.values("pk")[:1]), since=Subquery(first.values("created_at")[:1])
        )
        found = sites.order_by(F("since").asc(nulls_last=True)).values_list("name", "oldest", "since").first()
        if found is None or found[2] is None:
            return None
        return PanelItem(found[0], self.row_address(found[1]), since=found[2])

    def stuck(self, user: "User | AnonymousUser") -> ConversionQuerySet:
        rows = Conversion.objects.stuck().select_related("site").order_by("claimed_at")
        return rows if user.is_superuser else rows.visible_to(user)

    def item(self, row: Conversion) -> PanelItem:
        return PanelItem(row.site.name, self.row_address(row.pk), f"…{str(row.pk)[-12:]}", row.claimed_at)

    def concerns(self, user: "User | AnonymousUser", totals: Mapping[str, int]) -> Iterator[Concern]:
        sites = Site.objects.seen_by(user)
        circuits = Circuit.objects.open().filter(site__in=sites, site__sync_method=SyncMethod.API)
        yield concern(
            sites.filter(is_paused=True),
            site_item,
            title=_("Paused sites"),
            hint=_("Nothing is exported or sent until the pause ends."),
            colour="warning",
            is_paused__exact="1",
        )
        yield concern(
            circuits.select_related("site").order_by("opened_at"),
            circuit_item,
            title=_("Open circuits"),
            hint=_("Google rejects the account, so rows wait; a probe is sent automatically."),
            sync_method__exact=SyncMethod.API,
        )
        yield concern(
            without_credentials(sites),
            partial(site_item, page="credentials"),
            title=_("Sites without credentials"),
            hint=_("They use the Google Ads API; nothing is sent until credentials are stored."),
        )
        yield concern(
            with_silent_script(sites),
            site_item,
            title=_("Silent scripts"),
            hint=_("Rows wait, and the site's script has not called for 24 hours."),
        )


def concern(
    rows: QuerySet[Any],
    item: Callable[[Any], PanelItem],
    *,
    title: str,
    hint: str,
    colour: str = "danger",
    **filters: str,
) -> Concern:
    """Return the first rows, and a link to the list of sites with these filters."""
    items = [item(row) for row in rows[: SHOWN + 1]]
    total = len(items) if len(items) <= SHOWN else rows.order_by()[:MOST_COUNTED].count()
    everything = reverse("admin:ociqueue_site_changelist", query=filters or None)
    return Concern(title, hint, items[:SHOWN], colour, total, everything)


def site_item(site: Site, *, page: str = "change") -> PanelItem:
    address = reverse(f"admin:ociqueue_site_{page}", args=[site.pk])
    return PanelItem(site.name, address, site.pause_reason, getattr(site, "seen_at", None))


def circuit_item(circuit: Circuit) -> PanelItem:
    name = f"{circuit.site.name}: {scope_label(circuit)}" if circuit.action else circuit.site.name
    detail = _("%(code)s; next probe %(when)s") % {"code": circuit.code, "when": next_probe(circuit)}
    return PanelItem(name, reverse("admin:ociqueue_site_circuit", args=[circuit.site_id]), detail, circuit.opened_at)
