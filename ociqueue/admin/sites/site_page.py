"""The overview of a site (health in one sentence, numbers, 24 hours, first steps), its Ads Script and its API keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from http import HTTPStatus

from django import forms
from django.contrib import messages
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_stubs_ext import StrOrPromise
from unfold.admin import ModelAdmin

from kilit.access.key_scopes import KeyScope
from kilit.console.admin.keys import ScopesField, format_scopes
from kilit.console.dashboard.charts import Chart
from kilit.console.dashboard.page import StateCount
from kilit.console.formatting import badge, exactly, new_key, number
from kilit.console.jobs.timeline import Story
from kilit.console.lists.fields import text_field
from kilit.console.templatetags.console import percent
from kilit.lock.models import Count
from kilit.machine_errors import explain
from kilit.problems.blockers import Blocker, BlockerKind, blocked, waiting
from kilit.shares import share
from kilit.sites import site_keys
from kilit.sites.site_keys import KeyRequest
from kilit.spans import ago, distance
from ociqueue.admin.base.columns import STATES
from ociqueue.admin.base.site_header import list_of, site_address, site_page
from ociqueue.admin.google.circuits import sending_context
from ociqueue.models import Credentials, Site
from ociqueue.operating.site_health import SiteHealth, site_health
from ociqueue.queue import QUEUE
from ociqueue.script.ads_script import KEY_PLACEHOLDER, render_script
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
    if stop := _stop(site):
        yield stop, None
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


def _stop(site: Site) -> Blocker | None:
    if site.archived_at:
        sentence = _("Archived: %(why)s. Its keys are denied until it is restored.")
        return blocked(sentence % {"why": site.pause_reason})
    if not site.is_paused:
        return None
    who = {"person": Story().who(site.paused_by)} if site.paused_by else {}
    sentence = _("Paused by %(person)s: %(why)s. Nothing is exported or sent until the pause ends.")
    unknown = _("Paused: %(why)s. Nothing is exported or sent until the pause ends.")
    return blocked((sentence if who else unknown) % {"why": site.pause_reason.rstrip("."), **who})


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


# Keys as most sites need them: for one program, with what that one needs.
PRESETS = [
    (KeyScope.ENQUEUE, gettext_lazy("Shop"), gettext_lazy("Send conversions")),
    (KeyScope.SCRIPT, gettext_lazy("Ads Script"), KeyScope.SCRIPT.label),
]


class KeyForm(forms.Form):
    name = text_field(
        gettext_lazy("Name"), 100, help_text=gettext_lazy("What uses this key, so that you recognise it later.")
    )
    scopes = ScopesField()


def ads_script_page(model_admin: ModelAdmin, request: HttpRequest, site: Site, *, key: str = "") -> HttpResponse:
    """Show the script; it contains a key only right after that was issued on this page."""
    script = render_script(
        base_url=request.build_absolute_uri("/").rstrip("/"),
        site_id=site.public_id,
        api_key=key or KEY_PLACEHOLDER,
        time_zone=site.time_zone,
    )
    return site_page(
        model_admin,
        request,
        site,
        "ads_script",
        title=_("Ads Script of %(site)s") % {"site": site},
        script=script,
        has_key=bool(key),
        is_script_site=site.sync_method == SyncMethod.SCRIPT,
        keys=[(key, format_scopes(key)) for key in site.keys().all()],
        presets=PRESETS,
        after=site_keys.newest_key(site),
    )


def note_copied(model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse:
    """Record that the script was copied, once; the first steps of a new site show it."""
    if not is_copied(site):
        model_admin.log_change(request, site, COPIED)
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


@transaction.atomic  # a key and its record
def issue_key(model_admin: ModelAdmin, request: HttpRequest, site: Site) -> HttpResponse | None:
    form = KeyForm(request.POST or None)
    if form.is_valid():
        name, scopes = form.cleaned_data["name"], form.cleaned_data["scopes"]
        wanted = KeyRequest(site, name, scopes)
        text = site_keys.issue_once(request.user, wanted, after=request.POST.get("after", ""))
        if not text:
            sentence = _("No key was issued: another was issued meanwhile. Revoke that one if it was lost.")
            messages.error(request, sentence)
            return None
        messages.warning(request, new_key(_("Copy the key now; it is not shown again:"), text))
        # A script with a key that cannot claim would fail on its first run.
        return ads_script_page(model_admin, request, site, key=text if KeyScope.SCRIPT in scopes else "")
    return model_admin.confirm(
        request,
        site,
        title=_("Issue a new key for %(site)s") % {"site": site},
        sentences=[
            _("With this key, a program can do what you choose below, at this site only."),
            _("It is shown once, on the next page. Existing keys stay valid until you revoke them."),
        ],
        form=form,
        kept={"after": site_keys.newest_key(site)},
        submit=_("Issue the key"),
        back=site_address(site, "ads_script"),
    )


@transaction.atomic
def revoke_key(model_admin: ModelAdmin, request: HttpRequest, site: Site, key: int) -> HttpResponse | None:
    held = get_object_or_404(site.keys(), pk=key)
    if request.method == "POST":
        revoked = site_keys.revoke_key(request.user, site, held)
        message = _("Revoked %(key)s.") if revoked else _("%(key)s was already revoked.")
        messages.success(request, message % {"key": held})
        return None
    used = (
        _("It was last used on %(time)s.") % {"time": exactly(held.used_at)}
        if held.used_at
        else _("It was never used.")
    )
    return model_admin.confirm(
        request,
        site,
        title=_("Revoke the key %(key)s") % {"key": held},
        sentences=[
            _("Programs that use this key are denied from now on. This cannot be undone."),
            used,
        ],
        submit=_("Revoke the key"),
        is_dangerous=True,
        back=site_address(site, "ads_script"),
    )
