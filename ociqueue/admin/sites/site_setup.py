"""What is left to do until a new site exports for the first time."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q
from django.utils.translation import gettext as _

from ociqueue.admin.base.site_header import list_of, site_address
from ociqueue.models import Credentials, Site
from ociqueue.states import SyncMethod

COPIED = "Copied the script."  # in the site's history


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
