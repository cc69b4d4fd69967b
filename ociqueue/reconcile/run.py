"""One run: for each site that is due, read Google's summaries, add up ours, compare, and store what was found.

A site that uses the Google Ads API is read hourly while it uploads, and daily otherwise. A script sends its account's
summaries itself (`POST /api/oci/upload-summary`), so for such a site there is only the comparison to do.
"""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import (
    BooleanField,
    Count,
    DateTimeField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Sum,
)
from django.db.models.functions import Coalesce, Now, TruncDate

from kilit.access.encryption import DecryptionError
from kilit.lock.clock import database_time
from kilit.lock.identity import first_at
from kilit.lock.models import ErrorGroup
from kilit.lock.outages import DATABASE_DOWN
from kilit.lock.text import storable
from ociqueue import sentences
from ociqueue.models import Conversion, Credentials, ReadBack, Site, UploadBatch, UploadSummary
from ociqueue.models.conversion import ConversionQuerySet
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.reconcile.compare import ANY_ACTION, DAYS, DayComparison, GoogleCount, OurCount, compare
from ociqueue.reconcile.reading import read_account, store
from ociqueue.states import CONVERSIONS, UPLOADED_HERE, ConversionStatus, SyncMethod
from ociqueue.uploader.googleads.responses import describe_failure
from ociqueue.uploader.results import CredentialsRejected

logger = logging.getLogger(__name__)

DUE_AFTER = timedelta(hours=24)  # until then Google may still be counting
CLOCKS_DIFFER_BY = timedelta(minutes=1)
ANSWERED_WITHIN = timedelta(minutes=10)  # of an upload without an answer
SCRIPT_FILE_TAKES = timedelta(hours=1)  # Google processes a script's file after the script has reported it
# Rows that were stored longer ago than this before the first day are not found: the index is by time of creation.
STORED_WITHIN = timedelta(days=30)

ActionOf = Callable[[str], str]


class OurDays:
    """Adds up a site's counts for the days that Google reports, in the time zone of its account."""

    def __init__(self, site: Site, *, zone: ZoneInfo, read_at: datetime) -> None:
        self.site, self.zone, self.read_at = site, zone, read_at
        self.today = self._day(read_at)
        self.first_day = self.today - timedelta(days=DAYS - 1)
        self.since = datetime.combine(self.first_day, datetime.min.time(), zone)

    def counts(self, action_of: ActionOf, *, mapped_since: datetime | None = None) -> list[OurCount]:
        """Return all counts; `action_of` returns Google's action for a conversion name."""
        counts = [*self.uploads(action_of, mapped_since=mapped_since)]
        exported = self.site.last_export_at
        if self.site.sync_method == SyncMethod.SCRIPT or (exported and exported >= self.since):
            counts += [*self.acknowledged(action_of), *self.unreported(action_of)]
        return counts

    def uploads(self, action_of: ActionOf, *, mapped_since: datetime | None) -> Iterator[OurCount]:
        """Count uploads by their answers; before `mapped_since` it is not known which action a name meant."""
        counts: Counter[tuple[str, date, date, bool, bool, str]] = Counter()
        columns = ("sent_at", "answered_at", "by_action", "size", "sender")
        batches = UploadBatch.objects.filter(
            site=self.site, queue=CONVERSIONS.queue, created_at__gte=self.since - ANSWERED_WITHIN
        )
        sent = batches.filter(sent_at__isnull=False).values_list(*columns)
        for sent_at, answered_at, by_action, size, sender in sent.iterator():
            first = self._day(sent_at - CLOCKS_DIFFER_BY)
            last = self._day((answered_at or sent_at + ANSWERED_WITHIN) + CLOCKS_DIFFER_BY)
            is_due = bool(answered_at and answered_at <= self.read_at - DUE_AFTER)
            where = (first, last, is_due, sender == SyncMethod.API)
            is_mapped = mapped_since is None or sent_at >= mapped_since
            for name, kinds in (by_action if by_action is not None else {"": {"unknown": size}}).items():
                for kind, number in kinds.items():
                    counted_as = kind if is_mapped and kind in ("accepted", "failed") else "unknown"
                    counts[action_of(name) if is_mapped and name else ANY_ACTION, *where, counted_as] += number
        for (action, first, last, is_due, by_api, kind), number in counts.items():
            yield OurCount(action, first, last, is_due=is_due, by_api=by_api, **{kind: number})

    def acknowledged(self, action_of: ActionOf) -> Iterator[OurCount]:
        processed_at = ExpressionWrapper(F("updated_at") + SCRIPT_FILE_TAKES, output_field=DateTimeField())
        is_due = ExpressionWrapper(Q(updated_at__lte=self.read_at - DUE_AFTER), output_field=BooleanField())
        done = self._changed(Q(status=ConversionStatus.COMPLETED, uploaded_at=None)).values(
            "action",
            first_day=TruncDate(Coalesce("claimed_at", "updated_at"), tzinfo=self.zone),
            last_day=TruncDate(processed_at, tzinfo=self.zone),
            is_due=is_due,
        )
        for row in done.annotate(rows=Count("pk"), claims=Sum("attempt_count")):
            action = action_of(row["action"])
            first, last = row["first_day"], row["last_day"]
            yield OurCount(action, first, last, accepted=row["rows"], is_due=row["is_due"], by_api=False)
            # A claim before that was never reported may have been uploaded, too.
            again = row["claims"] - row["rows"]
            yield OurCount(action, self.first_day, last, unknown=again, by_api=False)

    def unreported(self, action_of: ActionOf) -> Iterator[OurCount]:
        live = Q(status__in=[state for state in ConversionStatus if state != ConversionStatus.COMPLETED])
        rows = self._changed(live & Q(attempt_count__gt=0))
        for action, claims in rows.values_list("action").annotate(claims=Sum("attempt_count")):
            yield OurCount(action_of(action), self.first_day, self.today, unknown=claims, by_api=False)

    def _changed(self, condition: Q) -> ConversionQuerySet:
        stored = Q(site=self.site, pk__gte=first_at(self.since - STORED_WITHIN))
        return Conversion.objects.filter(stored & condition, updated_at__gte=self.since).order_by()

    def _day(self, moment: datetime) -> date:
        return moment.astimezone(self.zone).date()


@dataclass(frozen=True)
class AccountMember:
    site: Site
    account: GoogleAdsAccount | None = None
    mapped_since: datetime | None = None  # when the names of conversions got the actions that they have now

    def action_of(self, ids: Mapping[str, str], name: str) -> str:
        """Return Google's action for a conversion name; scripts send the action's own name."""
        return self.account.action_of(name).rpartition("/")[2] if self.account else ids.get(name, name)


def members_of(stored: ReadBack) -> Iterator[AccountMember]:
    """Return the sites with a login for the account, and those whose script runs in it."""
    with_login = set()
    mapped_since = dict(ReadBack.objects.exclude(actions=None).values_list("site", "mapped_since"))
    logins = Credentials.objects.filter(site__sync_method__in=UPLOADED_HERE, site__customer_id=stored.customer_id)
    for login in logins.select_related("site"):
        with suppress(DecryptionError):
            account = login.account()
            with_login.add(login.site_id)
            yield AccountMember(login.site, account, mapped_since.get(login.site_id, login.changed_at))
    in_account = Q(pk=stored.site_id)
    if stored.customer_id:
        in_account |= Q(read_back__customer_id=stored.customer_id)
    for site in Site.objects.filter(in_account).exclude(pk__in=with_login):
        yield AccountMember(site)


WHILE_UPLOADING = timedelta(hours=1)  # Google keeps the last seven uploads only
OTHERWISE = timedelta(hours=24)
SCRIPTS_EVERY = timedelta(hours=6)  # adding up what a script reported reads the rows of a month


def due_sites() -> QuerySet[Site]:
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
        days = _safe_reconcile(site)
        unread += days is None
        compared += days is not None
        differing += any(row.differs for row in days or ())
    return f"Compared {compared}, differing {differing}, not read {unread}."


def handle_bell() -> str:
    return reconcile_due(seconds=(settings.TASK_TIMEOUT - settings.GOOGLE_ADS_TIMEOUT) / 2)


def _safe_reconcile(site: Site) -> list[DayComparison] | None:
    """Compare a site; an error of one site must not stop the others."""
    try:
        return reconcile(site)
    except DATABASE_DOWN:
        raise
    except Exception as error:
        logger.exception("comparing site %s with Google failed", site.public_id)
        ReadBack.objects.note(site, error=(sentences.NOT_COMPARED % {"error": type(error).__name__}).stored)
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
    from ociqueue.uploader.googleads.provider import GoogleAds  # noqa: PLC0415 - only workers load providers

    read_at = database_time()  # before the question: what is sent meanwhile may be missing in the answer
    try:
        login = Credentials.objects.get(site=site)
        account = login.account()
        provider = GoogleAds(account)
        provider.refresh()
        reading = read_account(provider)
    except (DecryptionError, CredentialsRejected, Credentials.DoesNotExist) as error:
        ReadBack.objects.note(site, error=storable(str(error), 1000))
        return False
    except Exception as error:  # whatever Google's client raises is shown on the page
        logger.warning("the upload summaries of site %s were not read", site.public_id, exc_info=True)
        ReadBack.objects.note(site, error=storable(describe_failure(error), 1000))
        return False
    store(site, reading, read_at=read_at)
    # Which actions the site's conversions have, and since when: new credentials may have the same ones.
    actions = {"": account.conversion_action, **account.conversion_actions}
    changed = ReadBack.objects.filter(Q(actions=None) | ~Q(actions=actions), site=site)
    changed.update(actions=actions, mapped_since=login.changed_at)
    return True


def compare_site(stored: ReadBack, *, read_at: datetime) -> list[DayComparison]:
    """Compare a reading with the counts of all sites of the Google account, and store the result."""
    zone = ZoneInfo(stored.time_zone)
    summaries = list(UploadSummary.objects.filter(site=stored.site_id))
    ids = {summary.action_name: str(summary.action_id) for summary in summaries}
    members = list(members_of(stored))
    ours: list[OurCount] = []
    for member in members:
        days = OurDays(member.site, zone=zone, read_at=read_at)
        ours += days.counts(partial(member.action_of, ids), mapped_since=member.mapped_since)
    by_script = any(member.site.sync_method == SyncMethod.SCRIPT for member in members)
    google: dict[tuple[date, str], dict[str, GoogleCount]] = defaultdict(dict)
    for summary in summaries:
        count = GoogleCount(summary.successful, summary.failed, summary.pending)
        google[summary.upload_date, str(summary.action_id)][summary.client] = count
    comparisons = compare(
        ours,
        google,
        today=read_at.astimezone(zone).date(),
        any_client=by_script or any(count.accepted and not count.by_api for count in ours),
    )
    names = {action: name for name, action in ids.items()}
    scopes = [str(member.site.pk) for member in members]
    seen = ErrorGroup.objects.codes(queue=CONVERSIONS.queue, scopes=scopes) if stored.alerts else {}
    differs = any(row.differs for row in comparisons)
    ReadBack.objects.note(
        stored.site,
        compared_at=Now(),
        days=[
            {**asdict(row), "day": row.day.isoformat(), "name": names.get(row.action, row.action)}
            for row in comparisons
        ],
        alerts=[{**alert, "seen": alert["error"] in seen} for alert in stored.alerts],
        is_shared=len(members) > 1,
        differs=differs,
        differs_since=(stored.differs_since or Now()) if differs else None,
    )
    return comparisons
