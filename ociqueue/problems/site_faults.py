"""What keeps a site from working, how Google counts it, and the first steps of a new one: in words, with links."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.lock.audit import actor_in_words
from kilit.machine_errors import explain
from kilit.problems.blockers import Blocker, BlockerKind, blocked, waiting
from kilit.problems.links import list_path, page_path
from kilit.problems.registry import number
from kilit.shares import share
from kilit.spans import ago, distance
from ociqueue.models import Conversion, Credentials, ReadBack, Site, UploadBatch
from ociqueue.operating.site_health import SiteHealth
from ociqueue.problems.sites import worst_difference
from ociqueue.states import UPLOADED_HERE, ConversionStatus, SyncMethod

COPIED = "Copied the script."  # in the site's history


@dataclass(frozen=True)
class SiteFault:
    """A sentence for the site's page and a few words for a list of sites, or only one of them."""

    blocker: Blocker | None
    label: str = ""
    title: str = ""  # says more than the label
    href: str = ""


def describe_health(site: Site, health: SiteHealth) -> Blocker:
    """Return one sentence: what keeps the site from working, the worst first, or that it works."""
    blockers = (fault.blocker for fault in site_faults(site, health))
    return next(filter(None, blockers), None) or _works(site, health)


def site_faults(site: Site, health: SiteHealth) -> Iterator[SiteFault]:
    google = {"link": _("Google"), "href": page_path(Site, "credentials", site.pk)}
    script = {"link": _("Keys and script"), "href": page_path(Site, "ads_script", site.pk)}
    if stop := _stop(site):
        yield SiteFault(stop)
    if health.needs_credentials:
        sentence = _("The site uses the %(sender)s and has no credentials: its conversions wait.")
        missing = blocked(sentence % {"sender": site.get_sync_method_display()}, **google)
        yield SiteFault(missing, _("no credentials"), _("Nothing is sent until they are stored"), google["href"])
    yield from _open_circuits(site, health)
    if health.is_silent:
        since = {"span": distance(site.last_export_at or site.created_at)}
        silent = blocked(_("Conversions wait, and the script has not called for %(span)s.") % since, **script)
        yield SiteFault(silent, _("script silent"), _("Rows wait, and the script has not called for 24 hours"))
    if health.is_alarming:
        yield _many_failures(site, f"{(health.error_rate or 0) * 100:.0f}")
    if health.google_differs:
        href = page_path(Site, "google_counts", site.pk)
        differs = blocked(_("Google counted fewer conversions than it accepted."), link=_("Google's counts"), href=href)
        yield SiteFault(differs, _("Google's counts differ"), href=href)
    if health.is_test_failed:
        failed = blocked(_("The last connection test failed."), **google)
        yield SiteFault(failed, _("connection test failed"), href=google["href"])
    if not site.last_export_at and site.sync_method == SyncMethod.SCRIPT:
        yield SiteFault(waiting(_("The site is not in use yet: its script has exported nothing."), **script))


def _stop(site: Site) -> Blocker | None:
    if site.archived_at:
        sentence = _("Archived: %(why)s. Its keys are denied until it is restored.")
        return blocked(sentence % {"why": site.pause_reason})
    if not site.is_paused:
        return None
    who = {"person": actor_in_words(site.paused_by)} if site.paused_by else {}
    sentence = _("Paused by %(person)s: %(why)s. Nothing is exported or sent until the pause ends.")
    unknown = _("Paused: %(why)s. Nothing is exported or sent until the pause ends.")
    return blocked((sentence if who else unknown) % {"why": site.pause_reason.rstrip("."), **who})


def _open_circuits(site: Site, health: SiteHealth) -> Iterator[SiteFault]:
    where = {"link": _("Circuit"), "href": page_path(Site, "circuit", site.pk)}
    for name, circuit in sorted(health.circuits.items()):
        sentence = _("Google rejects the account (%(code)s): conversions wait, and nothing is sent.")
        label = _("%(name)s: circuit open") % {"name": name} if name else _("circuit open")
        shut = None if name else blocked(sentence % {"code": circuit.code}, **where)
        yield SiteFault(shut, label, f"{circuit.code}: {explain(circuit.reason)}", where["href"])


def _many_failures(site: Site, percent: str) -> SiteFault:
    failed = list_path(Conversion, site=str(site.pk), status=ConversionStatus.FAILED)
    sentence = _("%(share)s of the conversions that finished in the last 24 hours failed.")
    label = _("errors %(rate)s") % {"rate": _("%(number)s %%") % {"number": percent}}
    many = blocked(sentence % {"share": share(percent)}, link=_("Failed conversions"), href=failed)
    return SiteFault(many, label, _("Of conversions finished in the last 24 hours"))


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
    return [SetupStep(_("Settings"), is_done=True, href=page_path(Site, "settings", site.pk)), *steps]


def _is_in_use(site: Site) -> bool:
    sent = site.upload_batches.filter(sent_at__isnull=False)
    if site.sync_method == SyncMethod.DATA_MANAGER:
        # Only a verdict shows that it works, unless the site was switched.
        sent = sent.filter(~Q(sender=site.sync_method) | Q(receipts__settled_at__isnull=False))
    return bool(site.last_export_at) or sent.exists()


def _steps_of_script_site(site: Site) -> Iterator[SetupStep]:
    keys, script = site.keys(), page_path(Site, "ads_script", site.pk)
    is_called = keys.filter(used_at__isnull=False).exists()
    yield SetupStep(_("Issue a key"), is_done=keys.valid().exists(), href=script)
    yield SetupStep(_("Copy the script into Google Ads"), is_done=is_called or is_copied(site), href=script)
    yield SetupStep(_("First request"), is_done=is_called, href=script)
    yield SetupStep(_("First export"), is_done=False, href=list_path(Conversion, site=str(site.pk)))


def _steps_of_upload_site(site: Site) -> Iterator[SetupStep]:
    stored, google = Credentials.objects.filter(site=site).first(), page_path(Site, "credentials", site.pk)
    conversions, uploads = (list_path(model, site=str(site.pk)) for model in (Conversion, UploadBatch))
    yield SetupStep(_("Store the credentials"), is_done=stored is not None, href=google)
    yield SetupStep(_("Pass the connection test"), is_done=bool(stored and stored.check_passed), href=google)
    yield SetupStep(_("First conversion"), is_done=site.conversions.exists(), href=conversions)
    is_sent = site.upload_batches.filter(sent_at__isnull=False).exists()
    yield SetupStep(_("First upload"), is_done=is_sent, href=uploads)
    if site.sync_method == SyncMethod.DATA_MANAGER:
        yield SetupStep(_("First verdict of Google"), is_done=False, href=uploads)


def is_copied(site: Site) -> bool:
    of_site = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(Site), object_id=str(site.pk))
    return of_site.filter(change_message=COPIED).exists()


def compare_counts(stored: ReadBack) -> Blocker:
    if stored.differs:
        sentence = _("Google's counts differ from ours. %(difference)s.")
        return blocked(sentence % {"difference": worst_difference(stored)})
    nothing = _("Nothing had been sent in the seven days before the last reading, and Google had received nothing.")
    everything = _("Google has everything that was sent more than 24 hours ago.")
    return Blocker(BlockerKind.READY, everything if stored.days else nothing)


def unseen_errors(stored: ReadBack) -> Iterator[str]:
    """Return the errors that Google reports for the last day with uploads and that no row of the account has here."""
    shares: dict[str, float] = {}
    for alert in stored.alerts:
        if not alert.get("seen"):
            shares[alert["error"]] = max(alert["share"], shares.get(alert["error"], 0))
    for error, part in shares.items():
        text = _("Google reports %(error)s for %(share)s of the last uploads, and no conversion here has it.")
        yield text % {"error": error, "share": share(f"{part * 100:.0f}")}
