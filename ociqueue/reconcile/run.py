"""One run: for each site that is due, read Google's summaries, add up ours, compare, and store what was found.

A site that uses the Google Ads API is read hourly while it uploads, and daily otherwise. A script sends its account's
summaries itself (`POST /api/oci/upload-summary`), so for such a site there is only the comparison to do.
"""

import logging
import time
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from kilit.access.encryption import DecryptionError
from kilit.lock.clock import database_time
from kilit.lock.models import ErrorGroup
from ociqueue.models import Credentials, ReadBack, Site, UploadBatch, UploadSummary
from ociqueue.reconcile.accounts import members_of, note_actions
from ociqueue.reconcile.compare import DayComparison, GoogleCount, OurCount, compare
from ociqueue.reconcile.ours import OurDays
from ociqueue.reconcile.reading import read_account, store
from ociqueue.states import CONVERSIONS, SyncMethod
from ociqueue.uploader.googleads.account_check import describe
from ociqueue.uploader.googleads.provider import GoogleAds
from ociqueue.uploader.results import CredentialsRejected

logger = logging.getLogger(__name__)

WHILE_UPLOADING = timedelta(hours=1)  # Google keeps the last seven uploads only
OTHERWISE = timedelta(hours=24)
SCRIPTS_EVERY = timedelta(hours=6)  # adding up what a script reported reads the rows of a month


def due_sites() -> QuerySet[Site]:
    """Return sites to read or compare now, those that waited longest first."""
    uploaded = UploadBatch.objects.filter(site=OuterRef("pk"), created_at__gt=OuterRef("read_back__tried_at"))
    to_read = (
        Q(read_back__tried_at=None)
        | Q(read_back__asked_at__gt=F("read_back__tried_at"))
        | Q(read_back__tried_at__lt=Now() - OTHERWISE)
        | Q(Exists(uploaded), read_back__tried_at__lt=Now() - WHILE_UPLOADING)
    )
    new = Q(read_back__read_at__gt=F("read_back__compared_at"), read_back__compared_at__lt=Now() - SCRIPTS_EVERY)
    to_compare = Q(read_back__compared_at=None) | new
    by_api = Q(to_read, sync_method=SyncMethod.API, credentials__isnull=False)
    by_script = Q(to_compare, sync_method=SyncMethod.SCRIPT, read_back__read_at__isnull=False)
    return (
        Site.objects.active().filter(by_api | by_script).order_by(F("read_back__tried_at").asc(nulls_first=True), "pk")
    )


def reconcile_due(*, sites: Iterable[Site] | None = None, seconds: float | None = None) -> str:
    """Compare sites for about so many seconds at most; the doorbell rings again for the rest."""
    end = None if seconds is None else time.monotonic() + seconds
    compared = unread = differing = 0
    for site in list(due_sites() if sites is None else sites):
        if end is not None and time.monotonic() > end:
            break
        found = _safe_reconcile(site)
        if found is None:
            unread += 1
            continue
        compared += 1
        differing += any(row.differs for row in found)
    return f"Compared {compared}, differing {differing}, not read {unread}."


def handle_bell() -> str:
    return reconcile_due(seconds=(settings.TASK_TIMEOUT - settings.GOOGLE_ADS_TIMEOUT) / 2)


def _safe_reconcile(site: Site) -> list[DayComparison] | None:
    """Compare a site; an error of one site must not stop the others."""
    try:
        return reconcile(site)
    except (OperationalError, InterfaceError):
        raise  # the database is unavailable, for all sites
    except Exception as error:
        logger.exception("comparing site %s with Google failed", site.public_id)
        ReadBack.objects.note(site, error=f"Comparing failed: {type(error).__name__}.")
        return None


def reconcile(site: Site) -> list[DayComparison] | None:
    """Read Google's counts for a site if it has a login, and compare; None if there is nothing to compare with."""
    # First, so that a site that cannot be read is not due again at once.
    ReadBack.objects.note(site, tried_at=Now())
    if site.sync_method == SyncMethod.API and not read(site):
        return None
    stored = ReadBack.objects.get(site=site)
    return compare_site(stored, read_at=stored.read_at) if stored.read_at else None


def read(site: Site) -> bool:
    read_at = database_time()  # before the question: what is sent meanwhile may be missing in the answer
    try:
        login = Credentials.objects.get(site=site)
        provider = GoogleAds(login.account())
        provider.refresh()
        reading = read_account(provider)
    except (DecryptionError, CredentialsRejected, Credentials.DoesNotExist) as error:
        ReadBack.objects.note(site, error=str(error)[:1000])
        return False
    except Exception as error:  # whatever Google's client raises is shown on the page
        logger.warning("the upload summaries of site %s were not read", site.public_id, exc_info=True)
        ReadBack.objects.note(site, error=describe(error)[:1000])
        return False
    store(site, reading, read_at=read_at)
    note_actions(login, provider.account)
    return True


def compare_site(stored: ReadBack, *, read_at: datetime) -> list[DayComparison]:
    """Compare a reading with our counts, those of other sites of the Google account included; store the result."""
    zone = ZoneInfo(stored.time_zone)
    summaries = list(UploadSummary.objects.filter(site=stored.site_id))
    ids = {summary.action_name: str(summary.action_id) for summary in summaries}
    members = list(members_of(stored))
    ours: list[OurCount] = []
    for member in members:
        days = OurDays(member.site, zone=zone, read_at=read_at)
        ours += days.counts(member.action_of(ids), mapped_since=member.mapped_since)
    by_script = any(member.site.sync_method == SyncMethod.SCRIPT for member in members)
    found = compare(
        ours,
        by_day(summaries),
        today=read_at.astimezone(zone).date(),
        any_client=by_script or any(count.accepted and not count.by_api for count in ours),
    )
    names = {action: name for name, action in ids.items()}
    rows = [{**asdict(row), "day": row.day.isoformat(), "name": names.get(row.action, row.action)} for row in found]
    scopes = [str(member.site.pk) for member in members]
    seen = ErrorGroup.objects.codes(queue=CONVERSIONS.queue, scopes=scopes) if stored.alerts else {}
    differs = any(row.differs for row in found)
    ReadBack.objects.note(
        stored.site,
        compared_at=Now(),
        days=rows,
        alerts=[{**alert, "seen": alert["error"] in seen} for alert in stored.alerts],
        is_shared=len(members) > 1,
        differs=differs,
        differs_since=(stored.differs_since or Now()) if differs else None,
    )
    return found


def by_day(summaries: Iterable[UploadSummary]) -> dict[tuple[date, str], dict[str, GoogleCount]]:
    found: dict[tuple[date, str], dict[str, GoogleCount]] = {}
    for each in summaries:
        clients = found.setdefault((each.upload_date, str(each.action_id)), {})
        clients[each.client] = GoogleCount(each.successful, each.failed, each.pending)
    return found
