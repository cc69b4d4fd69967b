"""What we sent for a site, by day of the Google account and conversion action."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db.models import BooleanField, Count, DateTimeField, ExpressionWrapper, F, Q, Sum
from django.db.models.functions import Coalesce, TruncDate

from kilit.lock.identity import first_at
from ociqueue.models import Conversion, Site, UploadBatch
from ociqueue.models.conversion import ConversionQuerySet
from ociqueue.reconcile.compare import ANY_ACTION, DAYS, OurCount
from ociqueue.states import CONVERSIONS, ConversionStatus, SyncMethod

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
        self.since = datetime.combine(self.first_day, time.min, zone)

    def counts(self, action_of: ActionOf, *, mapped_since: datetime | None = None) -> list[OurCount]:
        """Return all counts; `action_of` returns Google's action for a conversion name."""
        counts = [*self.uploads(action_of, mapped_since=mapped_since)]
        exported = self.site.last_export_at
        if self.site.sync_method == SyncMethod.SCRIPT or (exported and exported >= self.since):
            counts += [*self.acknowledged(action_of), *self.unreported(action_of)]
        return counts

    def uploads(self, action_of: ActionOf, *, mapped_since: datetime | None) -> Iterator[OurCount]:
        """Count uploads by their answers; before `mapped_since` it is not known which action a name meant."""
        found: Counter[tuple[str, date, date, bool, bool, str]] = Counter()
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
                    known = kind if is_mapped and kind in ("accepted", "failed") else "unknown"
                    found[action_of(name) if is_mapped and name else ANY_ACTION, *where, known] += number
        for (action, first, last, is_due, by_api, kind), number in found.items():
            yield OurCount(action, first, last, is_due=is_due, by_api=by_api, **{kind: number})

    def acknowledged(self, action_of: ActionOf) -> Iterator[OurCount]:
        """Count rows that a script reported as uploaded."""
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
        """Count rows that a script may have uploaded without a report."""
        live = Q(status__in=[state for state in ConversionStatus if state != ConversionStatus.COMPLETED])
        rows = self._changed(live & Q(attempt_count__gt=0))
        for action, claims in rows.values_list("action").annotate(claims=Sum("attempt_count")):
            yield OurCount(action_of(action), self.first_day, self.today, unknown=claims, by_api=False)

    def _changed(self, condition: Q) -> ConversionQuerySet:
        stored = Q(site=self.site, pk__gte=first_at(self.since - STORED_WITHIN))
        return Conversion.objects.filter(stored & condition, updated_at__gte=self.since).order_by()

    def _day(self, moment: datetime) -> date:
        return moment.astimezone(self.zone).date()
