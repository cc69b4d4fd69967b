"""The lock's own sweeps: each does one thing and returns a sentence about it."""

from datetime import timedelta

from django.conf import settings

from kilit.lock import pruning
from kilit.lock.audit import for_reason
from kilit.lock.models import Count, ErrorGroup


def fold_counts() -> str:
    total = 0
    while folded := Count.objects.fold():
        total += folded
    return f"Folded {total}."


def fold_errors() -> str:
    total = 0
    while folded := ErrorGroup.objects.fold():
        total += folded
    ErrorGroup.objects.forget()
    return f"Folded {total}."


def prune() -> str:
    """Delete rows that finished before the retention period, for about a minute; the next run continues."""
    days = settings.KEEP_FINISHED_DAYS
    with for_reason(f"finished more than {days} days ago"):
        deleted = pruning.prune(older_than=timedelta(days=days), seconds=pruning.SWEEP_SECONDS)
    return pruning.summary(deleted)
