"""How sites are doing, in a few queries for any number of sites; finished rows are never counted."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count as CountRows
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Coalesce, Now
from django.db.models.lookups import LessThan
from django.utils import timezone
from django.utils.translation import gettext as _

from kilit.lock.failures import EXPECTED_FAILURE, REOPENED_FAILURE
from kilit.lock.models import Count
from kilit.lock.models.counts import BESIDE_STATES, failure_rate
from kilit.sites.models import SiteQuerySet
from kilit.spans import format_span
from ociqueue.models import Circuit, Conversion, ReadBack, Site
from ociqueue.models.circuit import CircuitQuerySet
from ociqueue.models.site import SILENT_AFTER
from ociqueue.states import CONVERSIONS, ENDED, UPLOADED_HERE, WAITING, ConversionStatus, SyncMethod

ALARMING = 0.2  # share of failures among recently finished rows


@dataclass
class SiteHealth:
    totals: Counter[str] = field(default_factory=Counter)
    recently_ended: Counter[str] = field(default_factory=Counter)
    stuck: int = 0
    is_silent: bool = False
    needs_credentials: bool = False
    is_test_failed: bool = False
    google_differs: bool = False
    circuits: dict[str, Circuit] = field(default_factory=dict)  # open ones, by conversion name
    changed_at: datetime | None = None

    @property
    def waiting(self) -> int:
        return sum(self.totals[state] for state in WAITING)

    @property
    def circuit(self) -> Circuit | None:
        return self.circuits.get(Circuit.EVERY_ACTION)

    @property
    def error_rate(self) -> float | None:
        """The share of failures among recently finished rows as they are now, without expected ones."""
        ended = self.recently_ended
        rate = failure_rate(
            well=ended[ConversionStatus.COMPLETED],
            badly=ended[ConversionStatus.FAILED] - ended[REOPENED_FAILURE],
            expected=ended[EXPECTED_FAILURE],
        )
        return None if rate is None else round(rate, 4)

    @property
    def is_alarming(self) -> bool:
        return (self.error_rate or 0) > ALARMING


def site_health(sites: Sequence[Site]) -> dict[UUID, SiteHealth]:
    health_by_site = {site.pk: SiteHealth() for site in sites}
    by_scope = {str(pk): health for pk, health in health_by_site.items()}
    for total in Count.objects.totals(queue=CONVERSIONS.queue, scopes=by_scope):
        if total.scope in by_scope:
            health = by_scope[total.scope]
            health.totals[total.state] = total.now
            health.changed_at = max(health.changed_at or total.changed_at, total.changed_at)
    ended = Count.objects.entered_last_day(queue=CONVERSIONS.queue, states=[*ENDED, *BESIDE_STATES], scopes=by_scope)
    for scope, state, entered in ended:
        by_scope[scope].recently_ended[state] += entered
    stuck = Conversion.objects.filter(site__in=health_by_site).stuck().order_by().values_list("site")
    for pk, number in stuck.annotate(number=CountRows("pk")):
        health_by_site[pk].stuck = number
    for circuit in open_circuits(health_by_site):
        health_by_site[circuit.site_id].circuits[circuit.action] = circuit
    those_sites = Site.objects.filter(pk__in=health_by_site)
    flagged: dict[str, QuerySet[Any]] = {
        "is_silent": with_silent_script(those_sites),
        "needs_credentials": without_credentials(those_sites),
        "is_test_failed": with_failed_test(those_sites),
        "google_differs": ReadBack.objects.differing().filter(site__in=health_by_site),
    }
    for flag, rows in flagged.items():
        for pk in rows.values_list("pk", flat=True):
            setattr(health_by_site[pk], flag, True)
    return health_by_site


def open_circuits(sites: Collection[UUID]) -> CircuitQuerySet:
    """Return the open circuits of sites that use the API; scripts ignore circuits."""
    circuits: CircuitQuerySet = Circuit.objects.filter(site__in=sites, site__sync_method__in=UPLOADED_HERE)
    return circuits.open()


def without_credentials(sites: SiteQuerySet[Site]) -> SiteQuerySet[Site]:
    return sites.filter(sync_method__in=UPLOADED_HERE, credentials=None)


def with_failed_test(sites: SiteQuerySet[Site]) -> SiteQuerySet[Site]:
    return sites.filter(credentials__check_passed=False)


def with_silent_script(sites: SiteQuerySet[Site]) -> SiteQuerySet[Site]:
    """Return sites with due rows, where the script has not called for a day."""
    running = sites.filter(sync_method=SyncMethod.SCRIPT, is_paused=False)
    is_quiet = LessThan(Coalesce("last_export_at", "created_at"), Now() - SILENT_AFTER)
    return running.filter(is_quiet, Exists(Conversion.objects.due().filter(site=OuterRef("pk"))))


def scope_label(circuit: Circuit) -> str:
    if circuit.action:
        return _("Conversions named %(name)s") % {"name": circuit.action}
    return _("All conversions of the site")


def next_probe(circuit: Circuit) -> str:
    """Format the time of the next probe; one that is due waits for a worker and a row."""
    if circuit.next_probe_at is None:
        return _("none")
    if circuit.next_probe_at <= timezone.now():
        return _("with the next row that is due")
    return _("in %(span)s") % {"span": format_span(circuit.next_probe_at - timezone.now())}
