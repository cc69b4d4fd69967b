"""A site's circuits in the console: why nothing is sent, when the next probe is, and "Probe now"."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.console.admin.activity import ActivitySource, register_activity
from kilit.console.formatting import distance, number, two_lines
from kilit.console.jobs.timeline import Story, TimelineStep
from kilit.lock.models import Activity, ActivityKind, Event
from kilit.machine_errors import explain
from kilit.workers import doorbells
from kilit.workers.models import Heartbeat
from ociqueue.admin.base.site_header import may_administer, site_page
from ociqueue.admin.google.switching import is_shut_out
from ociqueue.models import Circuit, Conversion, Credentials, Site
from ociqueue.models.circuit import CircuitQuerySet
from ociqueue.operating.site_health import SiteHealth, next_probe, open_circuits, scope_label
from ociqueue.states import CIRCUITS, UPLOADED_HERE, CircuitStatus, ConversionStatus, SyncMethod

MOST_EVENTS = 50
STORY = Story(
    {
        "trip": gettext_lazy("Opened by %(who)s"),
        "close": gettext_lazy("Closed by %(who)s"),
        "PROBE_ASKED": gettext_lazy("Probe requested by %(who)s"),
    },
    actors={"uploader": gettext_lazy("the uploader")},
)
register_activity(
    CIRCUITS.queue,
    ActivitySource(
        gettext_lazy("Circuits"), STORY, lambda row: reverse("admin:ociqueue_site_circuit", args=[row.scope])
    ),
)


def circuit_page(model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse:
    circuits = Circuit.objects.filter(site=site).order_by("-status", "action")
    return site_page(
        model_admin,
        request,
        site,
        "circuit",
        tab="credentials",
        title=_("Circuit of %(site)s") % {"site": site},
        circuits=[_shown(circuit) | {"timeline": _timeline(circuit)} for circuit in circuits],
        **sending_context(site, request),
    )


def _timeline(circuit: Circuit) -> list[TimelineStep]:
    newest = Event.objects.of(circuit).order_by("-id")[:MOST_EVENTS]
    return STORY.steps(reversed(newest), labels=CIRCUITS.labels)


def _shown(circuit: Circuit) -> dict[str, object]:
    is_open = circuit.status == CircuitStatus.OPEN
    return {"circuit": circuit, "scope": scope_label(circuit), "is_open": is_open, "next_probe": next_probe(circuit)}


def sending_context(site: Site, request: HttpRequest) -> dict[str, Any]:
    if site.sync_method not in UPLOADED_HERE:
        return {"is_uploaded_here": False}
    return {
        "is_uploaded_here": True,
        "may_switch": is_shut_out(site) and may_administer(request.user, site),
        "needs_credentials": not Credentials.objects.filter(site=site).exists(),
        "open_circuits": [_shown(circuit) for circuit in open_circuits([site.pk]).order_by("action")],
    }


def probe_now(_model_admin: ModelAdmin, request: HttpRequest, site: Site) -> None:
    with transaction.atomic():
        circuits = open_circuits([site.pk])
        Event.objects.record_each(circuits, "PROBE_ASKED")
        Activity.objects.record(ActivityKind.ACTION, "PROBE_ASKED", queue=CIRCUITS.queue, scope=str(site.pk))
        probed = circuits.probe_now()
        doorbells.ring("oci_upload")
    if probed:
        messages.success(request, next_step(site, circuits))
    else:
        messages.warning(request, _("No circuit of %(site)s is open.") % {"site": site})


def next_step(site: Site, circuits: CircuitQuerySet) -> str:
    names = set(circuits.values_list("action", flat=True))
    rows = Conversion.objects.for_site(site).due()
    waiting = rows if Circuit.EVERY_ACTION in names else rows.filter(action__in=names)
    if site.is_paused:
        return _("The site is paused: the probe is sent when the pause ends.")
    if not Credentials.objects.filter(site=site).exists():
        return _("The site has no credentials: the probe is sent when they are stored.")
    if not waiting.exists():
        return _("No row is due: the next due row is sent as the probe.")
    if not Heartbeat.objects.alive().exists():
        return _("No worker is running: the row with the fewest attempts is sent as the probe when one starts.")
    return _("The row with the fewest attempts is sent as the probe within seconds.")


def sender_cell(site: Site, health: SiteHealth) -> SafeString:
    sender = {"sender": _("Data Manager") if site.sync_method == SyncMethod.DATA_MANAGER else _("API")}
    if circuit := health.circuit:
        lasting = distance(circuit.opened_at)  # type: ignore[arg-type]
        below = _("%(code)s, probe %(when)s") % {"code": Truncator(circuit.code).chars(20), "when": next_probe(circuit)}
        opened = _("%(sender)s, circuit open for %(span)s") % {**sender, "span": lasting}
        return two_lines(opened, below, title=explain(circuit.reason))
    if health.needs_credentials:
        return two_lines(_("%(sender)s, no credentials") % sender, "")
    closed = _("%(sender)s, circuit closed") % sender
    if health.circuits:
        return two_lines(closed, _("except %(names)s") % {"names": ", ".join(health.circuits)})
    if pending := health.totals[ConversionStatus.UPLOADED]:
        return two_lines(closed, _("verdict pending: %(number)s") % {"number": number(pending)})
    return two_lines(closed, "")
