"""The lock's own sweeps: each does one thing and returns a sentence about it."""

from datetime import timedelta

from django.conf import settings

from kilit.lock import pruning
from kilit.lock.audit import for_reason
from kilit.lock.models import Count, ErrorGroup


def fold_counts() -> str:
    return f"Folded {sum(iter(Count.objects.fold, 0))}."


def fold_errors() -> str:
    folded = sum(iter(ErrorGroup.objects.fold, 0))
    if folded:
        ErrorGroup.objects.forget()
    return f"Folded {folded}."


def prune() -> str:
    """Delete rows that finished before the retention period, for about a minute; the next run continues."""
    days = settings.KEEP_FINISHED_DAYS
    with for_reason(pruning.TOO_OLD % {"days": days}):
        deleted = pruning.prune(older_than=timedelta(days=days), seconds=pruning.SWEEP_SECONDS)
    return pruning.summary(deleted)
