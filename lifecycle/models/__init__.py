"""What the lock stores: the witness, the counts, bulk actions, the workers' signs of life, and the keys."""

from lifecycle.models.bulk import BulkAction, BulkItem
from lifecycle.models.count import Count, CountDelta, HourCount, MinuteCount
from lifecycle.models.event import Event
from lifecycle.models.key import ApiKey
from lifecycle.models.rate import RateWindow
from lifecycle.models.worker import Bell, Heartbeat, SweepRun

__all__ = [
    "ApiKey",
    "Bell",
    "BulkAction",
    "BulkItem",
    "Count",
    "CountDelta",
    "Event",
    "Heartbeat",
    "HourCount",
    "MinuteCount",
    "RateWindow",
    "SweepRun",
]
