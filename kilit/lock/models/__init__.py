"""Events, activity, counts, error groups, pauses of queues and records of pruning."""

from kilit.lock.models.activity import Activity, ActivityKind
from kilit.lock.models.counts import Count, CountDelta, HourCount
from kilit.lock.models.error_groups import ErrorDelta, ErrorGroup, ErrorHour
from kilit.lock.models.event import Event, Pruning
from kilit.lock.models.queue_pause import QueuePause

__all__ = [
    "Activity",
    "ActivityKind",
    "Count",
    "CountDelta",
    "ErrorDelta",
    "ErrorGroup",
    "ErrorHour",
    "Event",
    "HourCount",
    "Pruning",
    "QueuePause",
]
