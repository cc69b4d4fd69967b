"""What the lock stores: the witness, counts, groups of failures, bulk actions, the workers' signs of life, keys."""

from lifecycle.models.bulk import BulkAction, BulkItem
from lifecycle.models.count import Count, CountDelta, HourCount, MinuteCount
from lifecycle.models.errors import ErrorDelta, ErrorGroup, ErrorHour
from lifecycle.models.event import Event
from lifecycle.models.key import ApiKey
from lifecycle.models.pruning import Pruning
from lifecycle.models.rate import RateWindow
from lifecycle.models.refused import RefusalCode, RefusedRequest
from lifecycle.models.worker import Bell, Heartbeat, Runner, SweepRun

__all__ = [
    "ApiKey",
    "Bell",
    "BulkAction",
    "BulkItem",
    "Count",
    "CountDelta",
    "ErrorDelta",
    "ErrorGroup",
    "ErrorHour",
    "Event",
    "Heartbeat",
    "HourCount",
    "MinuteCount",
    "Pruning",
    "RateWindow",
    "RefusalCode",
    "RefusedRequest",
    "Runner",
    "SweepRun",
]
