"""The simulator's books: what was uploaded, and the summaries that Google makes of it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from simulators.googleads.responses import rows_of

CLIENTS = {"GOOGLE_ADS_API": 2, "GOOGLE_ADS_WEB_CLIENT": 3, "ADS_DATA_CONNECTOR": 4}
RETRACTION, RESTATEMENT = 2, 3  # ConversionAdjustmentType
KEPT = 7  # days, and uploads
BY_CLIENT, BY_ACTION = "offline_conversion_upload_client_summary", "offline_conversion_upload_conversion_action_summary"


@dataclass
class BookEntry:
    """Rows of one request and one action; tests change entries to plant differences."""

    at: datetime
    customer: str
    action: str
    successful: int = 0
    failed: int = 0
    pending: int = 0
    client: str = "GOOGLE_ADS_API"
    job_id: int = 0


@dataclass
class Counted:
    """A conversion that counts, until it is retracted; its order id and action name it."""

    value: Decimal
    currency: str
    adjusted_at: str = ""
    is_retracted: bool = False


@dataclass
class Books:
    counted: dict[tuple[str, str], Counted] = field(default_factory=dict)
    entries: list[BookEntry] = field(default_factory=list)
    zone: str = "Europe/Istanbul"
    names: dict[str, str] = field(default_factory=lambda: {"7": "Satış"})  # of actions, by number
    alerts: list[tuple[str, float]] = field(default_factory=list)  # conversion upload errors and their share
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    @property
    def count(self) -> int:
        return sum(not one.is_retracted for one in self.counted.values())

    @property
    def value(self) -> Decimal:
        return sum((one.value for one in self.counted.values() if not one.is_retracted), Decimal(0))

    def convert(self, row: Any) -> None:
        """Count a conversion; its order id is known to be new."""
        self.counted[row.order_id, row.conversion_action] = Counted(_money(row.conversion_value), row.currency_code)

    def adjust(self, row: Any, *, validate_only: bool) -> str:
        """Apply an adjustment, or return the name of the error."""
        conversion, at = self.counted.get((row.order_id, row.conversion_action)), row.adjustment_date_time
        if not conversion:
            return "CONVERSION_NOT_FOUND"
        if conversion.is_retracted:
            return "CONVERSION_ALREADY_RETRACTED"
        if row.adjustment_type == RESTATEMENT and at <= conversion.adjusted_at:
            return "RESTATEMENT_ALREADY_EXISTS" if at == conversion.adjusted_at else "MORE_RECENT_RESTATEMENT_FOUND"
        if not validate_only:
            conversion.adjusted_at, conversion.is_retracted = at, row.adjustment_type == RETRACTION
            if not conversion.is_retracted:
                conversion.value = _money(row.restatement_value.adjusted_value)
                conversion.currency = row.restatement_value.currency_code
        return ""

    def record(self, request: Any, failed: set[int | None]) -> None:
        counts: dict[str, Any] = defaultdict(Counter)
        for index, row in enumerate(rows_of(request)):
            counts[row.conversion_action]["failed" if index in failed else "successful"] += 1
        for action, count in counts.items():
            self.entries.append(
                BookEntry(self.clock(), request.customer_id, action.rpartition("/")[2], **count, job_id=request.job_id)
            )

    def summaries(self, customer: str, resource: str) -> list[dict[str, Any]]:
        """Return the rows of one of the two resources for an account."""
        groups: dict[tuple[str, ...], list[BookEntry]] = defaultdict(list)
        for entry in self.entries:
            if entry.customer == customer:
                groups[(entry.client, entry.action) if resource == BY_ACTION else (entry.client,)].append(entry)
        return [{resource: self._summary(key, entries)} for key, entries in groups.items()]

    def _summary(self, key: tuple[str, ...], entries: list[BookEntry]) -> dict[str, object]:
        client, *action = key
        today = self._day(self.clock())
        days = {today - timedelta(days=age) for age in range(KEPT)}
        by_day: dict[date, list[BookEntry]] = defaultdict(list)
        for entry in entries:
            by_day[self._day(entry.at)].append(entry)
        jobs = sorted((entry for entry in entries if entry.job_id), key=lambda entry: entry.at)[-KEPT:]
        alerts = [
            {"error": {"conversion_upload_error": name}, "error_percentage": share} for name, share in self.alerts
        ]
        named = [
            {"conversion_action_id": int(number), "conversion_action_name": self._name(number)} for number in action
        ]
        return {
            "client": CLIENTS[client],
            **(named[0] if named else {}),
            "total_event_count": sum(entry.successful + entry.failed + entry.pending for entry in entries),
            "daily_summaries": [
                {"upload_date": day.isoformat(), **_sums(rows)} for day, rows in sorted(by_day.items()) if day in days
            ],
            "job_summaries": [{"job_id": entry.job_id, **_sums([entry])} for entry in jobs],
            "alerts": alerts,
        }

    def _name(self, action: str) -> str:
        return self.names.get(action, f"Action {action}")

    def _day(self, moment: datetime) -> date:
        return moment.astimezone(ZoneInfo(self.zone)).date()


def _money(value: float) -> Decimal:
    return Decimal(str(value)).quantize(Decimal("0.001"))


def _sums(entries: Iterable[BookEntry]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for entry in entries:
        sums.update(successful_count=entry.successful, failed_count=entry.failed, pending_count=entry.pending)
    return dict(sums)
