"""A site's circuits in the console: why nothing flows, when the next probe goes out, and "probe now"."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext as _

from kilit.console.formatting import badge, page, two_lines
from kilit.lock.models import Event
from kilit.workers import doorbells
from kilit.workers.models import Heartbeat
from ociqueue.admin.reach import may_run, site_of
from ociqueue.models import Circuit, Conversion, Credentials, Site
from ociqueue.models.circuit import CircuitQuerySet
from ociqueue.overview import Overview, open_circuits
from ociqueue.states import CircuitStatus, SyncMethod

MOST_EVENTS = 50
LONGEST_CODE = 20
BELL = "oci_upload"


@dataclass(frozen=True)
class Shown:
    circuit: Circuit
    timeline: list[Event]

    @property
    def holds(self) -> str:
        """What it lets flow or holds back."""
        return held(self.circuit)

    @property
    def is_open(self) -> bool:
        return self.circuit.status == CircuitStatus.OPEN

    @property
    def next_probe(self) -> str:
        return next_probe(self.circuit)


def urls(model_admin: Any) -> list[URLPattern]:
    """Return the address below a site's page that a probe is asked for at."""
    view = model_admin.admin_site.admin_view(lambda request, object_id: probe_now(model_admin, request, object_id))
    return [path("<path:object_id>/circuit/probe/", view, name="ociqueue_site_probe")]


def circuit_page(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show every circuit of a site, the open ones first, each with its timeline."""
    site = site_of(model_admin, request, object_id)
    circuits = Circuit.objects.filter(site=site).order_by("-status", "action")
    return page(
        model_admin,
        request,
        "admin/ociqueue/circuit.html",
        title=_("Circuit of %(site)s") % {"site": site},
        original=site,
        shown=[Shown(circuit, list(Event.objects.of(circuit).order_by("-id")[:MOST_EVENTS])) for circuit in circuits],
        **about(site, request),
    )


def about(site: Site, request: HttpRequest) -> dict[str, Any]:
    """Return what a page says of the way to Google: for a site that its script sends, only that."""
    if site.sync_method != SyncMethod.API:
        return {"is_api_site": False}
    return {
        "is_api_site": True,
        "needs_credentials": not Credentials.objects.filter(site=site).exists(),
        "open_circuits": [Shown(circuit, []) for circuit in open_circuits([site.pk]).order_by("action")],
        "may_run": may_run(request.user, site),
    }


def probe_now(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    """Make the next probe due, ring, and say what will happen."""
    site = site_of(model_admin, request, object_id, allowed=may_run)
    if request.method == "POST":
        with transaction.atomic():
            circuits = open_circuits([site.pk])
            Event.objects.record_each(circuits, "PROBE_ASKED")
            woken = circuits.probe_now()
            doorbells.ring(BELL)
        tell = messages.success if woken else messages.warning
        tell(
            request,
            " ".join(what_follows(site, circuits)) if woken else _("No circuit of %(site)s is open.") % {"site": site},
        )
    return HttpResponseRedirect(reverse("admin:ociqueue_site_circuit", args=[site.pk]))


def what_follows(site: Site, circuits: CircuitQuerySet) -> Iterator[str]:
    """Say what a probe that was asked for waits for, if for anything."""
    names = set(circuits.values_list("action", flat=True))
    rows = Conversion.objects.for_site(site).due()
    waiting = rows if Circuit.EVERY_ACTION in names else rows.filter(action__in=names)
    if site.is_paused:
        yield _("The site is paused: the probe goes out when somebody ends the pause.")
    elif not Credentials.objects.filter(site=site).exists():
        yield _("The site has no login: store its credentials, and the probe goes out.")
    elif not waiting.exists():
        yield _("No row is due: the next row is the probe.")
    elif not Heartbeat.objects.alive().exists():
        yield _("No worker is alive: the waiting row that was tried least is sent as the probe when one starts.")
    else:
        yield _("The waiting row that was tried least is sent as the probe within seconds.")


def held(circuit: Circuit) -> str:
    named = _("Conversions named %(name)s") % {"name": circuit.action}
    return named if circuit.action else _("All conversions of the site")


def next_probe(circuit: Circuit) -> str:
    """Say when one row tries again; one that is due waits for a worker and a row."""
    if circuit.next_probe_at is None:
        return _("none")
    if circuit.next_probe_at <= timezone.now():
        return _("with the next row that is due")
    return _("in %(span)s") % {"span": timeuntil(circuit.next_probe_at, depth=1)}


# In the list of sites


def flow(overview: Overview) -> SafeString:
    """Return how the way to Google is."""
    if circuit := overview.circuit:
        lasting = timesince(circuit.opened_at, depth=1)  # type: ignore[arg-type]
        told = {"code": shortened(circuit.code), "when": next_probe(circuit)}
        below = _("%(code)s, probe %(when)s") % told
        return two_lines(_("API, circuit open for %(span)s") % {"span": lasting}, below, title=circuit.reason)
    if overview.needs_credentials:
        return two_lines(_("API, no login"), "")
    if overview.circuits:
        return two_lines(_("API, circuit closed"), _("but for %(names)s") % {"names": ", ".join(overview.circuits)})
    return two_lines(_("API, circuit closed"), "")


def shortened(code: str) -> str:
    """Return a code that leaves room for other columns; all of it is on the site's page."""
    return code if len(code) <= LONGEST_CODE else f"{code[: LONGEST_CODE - 1]}…"


def alarms(site: Site, overview: Overview) -> Iterator[SafeString]:
    """Return what keeps an API site from sending."""
    if overview.needs_credentials:
        address = reverse("admin:ociqueue_site_credentials", args=[site.pk])
        yield badge(_("no login"), "danger", title=_("Nothing is sent until credentials are stored"), href=address)
    address = reverse("admin:ociqueue_site_circuit", args=[site.pk])
    for name, circuit in sorted(overview.circuits.items()):
        word = _("%(name)s: circuit open") % {"name": name} if name else _("circuit open")
        yield badge(word, "danger", title=f"{circuit.code}: {circuit.reason}", href=address)
