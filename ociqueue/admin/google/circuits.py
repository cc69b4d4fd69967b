"""What keeps a site's rows from being sent, in the console: circuits with "Probe now", and what to know of senders."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldBooleanWidget

from kilit.console.admin.activity import ActivitySource, register_activity
from kilit.console.formatting import link, number, two_lines
from kilit.console.jobs.timeline import Story
from kilit.lock.models import Event
from kilit.machine_errors import explain
from kilit.spans import distance
from ociqueue.admin.base.site_header import may_administer, site_page
from ociqueue.models import Circuit, Credentials, Site
from ociqueue.models.circuit import NOT_ALLOWLISTED
from ociqueue.operating.probes import PROBE_ASKED, next_probe_of, request_probe
from ociqueue.operating.senders import UnsettledRows
from ociqueue.operating.site_health import SiteHealth, next_probe, open_circuits, scope_label, site_health
from ociqueue.problems.sites import switch_path
from ociqueue.states import CIRCUITS, UPLOADED_HERE, CircuitStatus, ConversionStatus, SyncMethod


def warnings(site: Site, rows: UnsettledRows) -> SafeString:
    """Return which rows the account that is used until now may have, and what to do first."""
    listed = reverse("admin:ociqueue_conversion_changelist", query={"site": site.pk, "outcome": "unknown"})
    sentences: list[str] = []
    if rows.unknown_waiting or rows.unknown_failed:
        numbers = {"waiting": number(rows.unknown_waiting), "failed": number(rows.unknown_failed)}
        said = _(
            "Outcome unknown: %(waiting)s wait, %(failed)s failed. Google may have counted them. It counts an order id "
            "once, but only within one account: in another account they count again."
        )
        sentences.append(format_html("{} {}", said % numbers, link(listed, _("Show them"))))
    if rows.processing:
        said = _("Being sent: %(number)s. They are being sent to the old account, or were taken by its script.")
        sentences.append(said % {"number": number(rows.processing)})
    if rows.uploaded:
        said = _("Waiting for Google: %(number)s. Google's verdict is asked for with the login that is stored then.")
        sentences.append(said % {"number": number(rows.uploaded)})
    sentences.append(
        _(
            "Before another account gets the rows: pause the site, wait until nothing is being sent or waits for "
            "Google, look the unknown ones up in the old account by their order ids, and mark failed what it has."
        )
    )
    return format_html_join(SafeString("<br>"), "{}", ((sentence,) for sentence in sentences))


def confirmation(site: Site, rows: UnsettledRows, label: str) -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False, widget=UnfoldBooleanWidget, help_text=warnings(site, rows))


# What helps to choose a sender.
SENDERS = {
    SyncMethod.SCRIPT: gettext_lazy(
        "A script in Google Ads takes the conversions. It needs no login, but gives no result for each row."
    ),
    SyncMethod.API: gettext_lazy(
        "We upload; each row has its result at once. Only for developer tokens that uploaded clicks before June 2026: "
        "Google closed it to all others, and keeps the list per developer token."
    ),
    SyncMethod.DATA_MANAGER: gettext_lazy(
        "We upload; Google gives its verdict on each row later, usually within 24 hours. Google's successor of click "
        "uploads over the Ads API, open to everyone. The login needs the scope datamanager, and the Data Manager API "
        "must be enabled in its Google Cloud project; it is tested right after a change."
    ),
}


def rows_in_flight(site: Site) -> list[str]:
    """Say what happens to a site's rows when its sender changes, with how many there are now."""
    totals = site_health([site])[site.pk].totals
    processing, uploaded = totals[ConversionStatus.PROCESSING], totals[ConversionStatus.UPLOADED]
    return [
        _("Being sent: %(number)s. They stay with the sender that has claimed them until it reports.")
        % {"number": number(processing)},
        _("Waiting for Google: %(number)s. They stay with their upload until Google's verdict.")
        % {"number": number(uploaded)},
        _("All others, and what comes in, go to the new sender. No row is sent by two."),
    ]


def is_shut_out(site: Site) -> bool:
    """Return whether Google refuses the site's uploads because it closed the Ads API to its developer token."""
    shut = Circuit.objects.filter(site=site, status=CircuitStatus.OPEN, code=NOT_ALLOWLISTED)
    return site.sync_method == SyncMethod.API and shut.exists()


MOST_EVENTS = 50
STORY = Story(
    {
        "trip": gettext_lazy("Opened by %(who)s"),
        "close": gettext_lazy("Closed by %(who)s"),
        PROBE_ASKED: gettext_lazy("Probe requested by %(who)s"),
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
        circuits=[
            _shown(circuit) | {"timeline": STORY.steps(reversed(events), labels=CIRCUITS.labels)}
            for circuit in circuits
            for events in [Event.objects.of(circuit).order_by("-id")[:MOST_EVENTS]]
        ],
        **sending_context(site, request),
    )


def _shown(circuit: Circuit) -> dict[str, object]:
    is_open = circuit.status == CircuitStatus.OPEN
    return {"circuit": circuit, "scope": scope_label(circuit), "is_open": is_open, "next_probe": next_probe(circuit)}


def sending_context(site: Site, request: HttpRequest) -> dict[str, Any]:
    if site.sync_method not in UPLOADED_HERE:
        return {"is_uploaded_here": False}
    return {
        "is_uploaded_here": True,
        "switch_href": switch_path(site.pk) if is_shut_out(site) and may_administer(request.user, site) else "",
        "needs_credentials": not Credentials.objects.filter(site=site).exists(),
        "open_circuits": [_shown(circuit) for circuit in open_circuits([site.pk]).order_by("action")],
    }


def probe_now(_model_admin: ModelAdmin, request: HttpRequest, site: Site) -> None:
    if request_probe(site):
        messages.success(request, next_probe_of(site))
    else:
        messages.warning(request, _("No circuit of %(site)s is open.") % {"site": site})


def sender_cell(site: Site, health: SiteHealth) -> SafeString:
    sender = {"sender": _("Data Manager") if site.sync_method == SyncMethod.DATA_MANAGER else _("API")}
    if circuit := health.circuit:
        lasting = distance(circuit.opened_at)  # type: ignore[arg-type]
        below = _("%(code)s, probe %(when)s") % {"code": Truncator(circuit.code).chars(20), "when": next_probe(circuit)}
        opened = _("%(sender)s, circuit open for %(span)s") % {**sender, "span": lasting}
        return two_lines(opened, below, title=explain(circuit.reason))
    if health.needs_credentials:
        return two_lines(_("%(sender)s, no credentials") % sender, "")
    pending, below = health.totals[ConversionStatus.UPLOADED], ""
    if health.circuits:
        below = _("except %(names)s") % {"names": ", ".join(health.circuits)}
    elif pending:
        below = _("verdict pending: %(number)s") % {"number": number(pending)}
    return two_lines(_("%(sender)s, circuit closed") % sender, below)
