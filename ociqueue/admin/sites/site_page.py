"""The overview of a site: its health in one sentence, its numbers, its last 24 hours and its first steps."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin

from kilit.console.dashboard.charts import Chart
from kilit.console.dashboard.page import StateCount
from kilit.console.formatting import ago, badge, distance, number
from kilit.console.jobs.blockers import Blocker, BlockerKind, blocked, waiting
from kilit.console.jobs.timeline import Story
from kilit.console.templatetags.console import percent
from kilit.lock.models import Count
from kilit.machine_errors import explain
from kilit.shares import share
from ociqueue.admin.base.columns import STATES
from ociqueue.admin.base.site_header import list_of, site_address, site_page
from ociqueue.admin.google.circuits import sending_context
from ociqueue.models import Credentials, Site
from ociqueue.operating.site_health import SiteHealth, site_health
from ociqueue.queue import QUEUE
from ociqueue.states import CONVERSIONS, UPLOADED_HERE, ConversionStatus, SyncMethod

COPIED = "Copied the script."  # in the site's history


def overview(model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse:
    health = site_health([site])[site.pk]
    scopes = [str(site.pk)]
    periods = Count.objects.last_day(queue=CONVERSIONS.queue, well=QUEUE.well, badly=QUEUE.badly, scopes=scopes)
    return site_page(
        model_admin,
        request,
        site,
        "site",
        tab="change",
        title=site.name,
        health=describe_health(site, health),
        steps=setup_steps(site),
        states=list(_states(site, health)),
        last_sent=_last_sent(site),
        queue=QUEUE,
        chart=Chart(periods, 1, (list_of(site, status="COMPLETED"), list_of(site, status="FAILED"))),
        days=1,
        **sending_context(site, request),
    )


def describe_health(site: Site, health: SiteHealth) -> Blocker:
    """Return one sentence: what keeps the site from working, the worst first, or that it works."""
    return next((sentence for sentence, _badge in faults(site, health) if sentence), None) or _works(site, health)


def faults(site: Site, health: SiteHealth) -> Iterator[tuple[Blocker | None, SafeString | None]]:
    """Yield what keeps a site from working: a sentence for its page and a badge for the list, or only one of them."""
    google = {"link": _("Google"), "href": site_address(site, "credentials")}
    script = {"link": _("Keys and script"), "href": site_address(site, "ads_script")}
    danger = partial(badge, colour="danger")
    if site.archived_at:
        sentence = _("Archived: %(why)s. Its keys are denied until it is restored.")
        yield blocked(sentence % {"why": site.pause_reason}), None
    elif site.is_paused:
        who = {"person": Story().who(site.paused_by)} if site.paused_by else {}
        sentence = _("Paused by %(person)s: %(why)s. Nothing is exported or sent until the pause ends.")
        unknown = _("Paused: %(why)s. Nothing is exported or sent until the pause ends.")
        yield blocked((sentence if who else unknown) % {"why": site.pause_reason.rstrip("."), **who}), None
    if health.needs_credentials:
        sentence = _("The site uses the %(sender)s and has no credentials: its conversions wait.")
        title = _("Nothing is sent until they are stored")
        shown = danger(_("no credentials"), title=title, href=google["href"])
        yield blocked(sentence % {"sender": site.get_sync_method_display()}, **google), shown
    yield from _open_circuits(site, health)
    if health.is_silent:
        since = {"span": distance(site.last_export_at or site.created_at)}
        title = _("Rows wait, and the script has not called for 24 hours")
        sentence = _("Conversions wait, and the script has not called for %(span)s.")
        yield blocked(sentence % since, **script), danger(_("script silent"), title=title)
    if health.is_alarming:
        sentence = _("%(share)s of the conversions that finished in the last 24 hours failed.")
        failed = {"link": _("Failed conversions"), "href": list_of(site, status=ConversionStatus.FAILED)}
        title, rate = _("Of conversions finished in the last 24 hours"), health.error_rate or 0
        shown = danger(_("errors %(rate)s") % {"rate": percent(rate)}, title=title)
        yield blocked(sentence % {"share": share(f"{rate * 100:.0f}")}, **failed), shown
    if health.google_differs:
        counts = {"link": _("Google's counts"), "href": site_address(site, "google_counts")}
        sentence = _("Google counted fewer conversions than it accepted.")
        yield blocked(sentence, **counts), danger(_("Google's counts differ"), href=counts["href"])
    if health.is_test_failed:
        shown = danger(_("connection test failed"), href=google["href"])
        yield blocked(_("The last connection test failed."), **google), shown
    if not site.last_export_at and site.sync_method == SyncMethod.SCRIPT:
        yield waiting(_("The site is not in use yet: its script has exported nothing."), **script), None


def _open_circuits(site: Site, health: SiteHealth) -> Iterator[tuple[Blocker | None, SafeString]]:
    where = {"link": _("Circuit"), "href": site_address(site, "circuit")}
    for name, circuit in sorted(health.circuits.items()):
        sentence = _("Google rejects the account (%(code)s): conversions wait, and nothing is sent.")
        label = _("%(name)s: circuit open") % {"name": name} if name else _("circuit open")
        title = f"{circuit.code}: {explain(circuit.reason)}"
        shown = badge(label, "danger", title=title, href=where["href"])
        yield None if name else blocked(sentence % {"code": circuit.code}, **where), shown


def _works(site: Site, health: SiteHealth) -> Blocker:
    number_of = {"number": number(health.waiting)}
    wait = _("nothing waits")
    if health.waiting:
        wait = ngettext("%(number)s conversion waits", "%(number)s conversions wait", health.waiting) % number_of
    if pending := health.totals[ConversionStatus.UPLOADED]:
        sentence = _(
            "The site works: conversions are sent as they arrive, and %(wait)s. Google's verdict is pending for "
            "%(pending)s."
        )
        number_of["pending"] = number(pending)
    elif site.sync_method in UPLOADED_HERE:
        sentence = _("The site works: conversions are sent as they arrive, and %(wait)s.")
    else:
        sentence = _("The site works: its script exported %(when)s, and %(wait)s.")
    return Blocker(BlockerKind.READY, sentence % {**number_of, "wait": wait, "when": ago(site.last_export_at)})


def _states(site: Site, health: SiteHealth) -> Iterator[tuple[StateCount, StrOrPromise]]:
    for state in ConversionStatus:
        count = StateCount(state, STATES.colours[state], health.totals[state], list_of(site, status=state))
        yield count, STATES.labels[state]


def _last_sent(site: Site) -> tuple[str, str, datetime | None]:
    if site.sync_method == SyncMethod.SCRIPT:
        return _("Last export"), list_of(site), site.last_export_at
    newest = site.upload_batches.order_by("-created_at").values_list("sent_at", flat=True).first()
    return _("Last upload"), list_of(site, "uploadbatch"), newest


@dataclass(frozen=True)
class SetupStep:
    title: str
    is_done: bool
    href: str


def setup_steps(site: Site) -> list[SetupStep]:
    """Return the steps of a new site; none once it has exported or sent something."""
    if _is_in_use(site):
        return []
    steps = _steps_of_script_site(site) if site.sync_method == SyncMethod.SCRIPT else _steps_of_upload_site(site)
    return [SetupStep(_("Settings"), is_done=True, href=site_address(site, "settings")), *steps]


def _is_in_use(site: Site) -> bool:
    sent = site.upload_batches.filter(sent_at__isnull=False)
    if site.sync_method == SyncMethod.DATA_MANAGER:
        # Only a verdict shows that it works, unless the site was switched.
        sent = sent.filter(~Q(sender=site.sync_method) | Q(receipts__settled_at__isnull=False))
    return bool(site.last_export_at) or sent.exists()


def _steps_of_script_site(site: Site) -> Iterator[SetupStep]:
    keys, script = site.keys(), site_address(site, "ads_script")
    is_called = keys.filter(used_at__isnull=False).exists()
    yield SetupStep(_("Issue a key"), is_done=keys.valid().exists(), href=script)
    yield SetupStep(_("Copy the script into Google Ads"), is_done=is_called or is_copied(site), href=script)
    yield SetupStep(_("First request"), is_done=is_called, href=script)
    yield SetupStep(_("First export"), is_done=False, href=list_of(site))


def _steps_of_upload_site(site: Site) -> Iterator[SetupStep]:
    stored, google = Credentials.objects.filter(site=site).first(), site_address(site, "credentials")
    yield SetupStep(_("Store the credentials"), is_done=stored is not None, href=google)
    yield SetupStep(_("Pass the connection test"), is_done=bool(stored and stored.check_passed), href=google)
    yield SetupStep(_("First conversion"), is_done=site.conversions.exists(), href=list_of(site))
    uploads = list_of(site, "uploadbatch")
    is_sent = site.upload_batches.filter(sent_at__isnull=False).exists()
    yield SetupStep(_("First upload"), is_done=is_sent, href=uploads)
    if site.sync_method == SyncMethod.DATA_MANAGER:
        yield SetupStep(_("First verdict of Google"), is_done=False, href=uploads)


def is_copied(site: Site) -> bool:
    of_site = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(Site), object_id=str(site.pk))
    return of_site.filter(change_message=COPIED).exists()
