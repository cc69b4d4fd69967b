"""Runs an audit: of what is new since the last one, or of the whole log."""

import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Max
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy
from pydantic_core import to_json

from kilit.audit.checks import checks
from kilit.audit.models import Audit
from kilit.audit.replay import (
    SPAN,
    Breach,
    Fault,
    acts_by_others,
    breaches_in_span,
    count_span,
    models_of,
    numbers_that_differ,
    rows_without_events,
    snapshot,
)
from kilit.lock.identity import first_at
from kilit.lock.log import settled_up_to
from kilit.lock.models import Event
from kilit.problems.registry import with_number
from kilit.sentences import stored, translated

MOST_NAMED = 1_000  # breaches in a record
MARGIN = timedelta(hours=1)  # rows that an earlier audit may not have seen yet
SETTLE_SECONDS = 60.0
SWEEP_SECONDS = 300.0
FIRST_ID = UUID(int=0)
MOVES = ngettext_lazy("%(number)s move", "%(number)s moves", "count")
JOBS = ngettext_lazy("%(number)s job", "%(number)s jobs", "count")
NEW_JOBS = ngettext_lazy("%(number)s new job", "%(number)s new jobs", "count")
WRONG = ngettext_lazy("%(number)s is wrong", "%(number)s are wrong", "count")


def sweep() -> str:
    """Audit what is new, for as long as a worker's task may take."""
    return sentence(audit(seconds=SWEEP_SECONDS))


def audit(*, full: bool = False, seconds: float | None = None) -> Audit:
    """Audit the log up to the last settled event; with `seconds`, what is left is for the next audit."""
    deadline = None if seconds is None else time.monotonic() + seconds
    last_audit = Audit.objects.filter(finished_at__isnull=False).order_by("id").last()
    since = FIRST_ID if full or not last_audit else first_at(last_audit.started_at - MARGIN)
    begin = 0 if full else Audit.objects.aggregate(read=Max("last_event"))["read"] or 0
    end = settled_up_to(Event.objects.aggregate(newest=Max("id"))["newest"] or 0, seconds=SETTLE_SECONDS)
    record = Audit.objects.create(is_full=begin == 0, first_event=begin, last_event=begin)
    while record.last_event < end and (deadline is None or time.monotonic() < deadline):
        first, last = record.last_event, min(record.last_event + SPAN, end)
        counts = count_span(first, last)
        record.moves, record.jobs = record.moves + counts.moves, record.jobs + counts.jobs
        add_breaches(record, breaches_in_span(first, last, models=models_of(counts.queues), most=MOST_NAMED))
        add_breaches(record, acts_by_others(first, last, most=MOST_NAMED))
        record.last_event = last
    record.save()  # what was read is not read again, even if this audit ends in what follows
    add_breaches(record, rows_without_events(since, most=MOST_NAMED))
    add_breaches(record, numbers_that_differ(full=full))
    add_breaches(record, findings_of_checks())
    record.finished_at = Now()
    record.save()
    record.refresh_from_db()
    return record


def findings_of_checks() -> Iterator[Breach]:
    for name, find in checks.items():
        with snapshot():
            for finding in find():
                yield Breach(Fault.CHECK, name, None, details=stored(finding))


def add_breaches(record: Audit, breaches: Iterable[Breach]) -> None:
    for breach in breaches:
        record.breach_count += 1
        if len(record.breaches) < MOST_NAMED:
            record.breaches.append(as_json(breach))


def as_json(breach: Breach) -> dict[str, Any]:
    return {
        "fault": breach.fault.value,
        "queue": breach.queue,
        "job": str(breach.object_id or ""),
        "event": breach.event_id,
        "details": breach.details,
    }


def describe(breach: dict[str, Any]) -> str:
    """Return a stored breach as a line in the reader's language."""
    details = translated(breach["details"])
    if breach["fault"] == Fault.CHECK:
        return f"{breach['queue']}: {details}"
    event = f", #{breach['event']}" if breach["event"] else ""
    return f"{breach['queue']} {breach['job']}".strip() + f": {Fault(breach['fault']).label} ({details}{event})"


def sentence(record: Audit) -> str:
    """Return the result in one sentence; an audit of what is new also has moves of older jobs."""
    parts = {
        "moves": with_number(MOVES, record.moves),
        "jobs": with_number(JOBS if record.is_full else NEW_JOBS, record.jobs),
        "result": with_number(WRONG, record.breach_count) if record.breach_count else _("all listed"),
    }
    if record.is_full:
        return _("%(moves)s of %(jobs)s: %(result)s.") % parts
    return _("%(moves)s, %(jobs)s: %(result)s.") % parts


def report(record: Audit) -> str:
    """Return the record as JSON, for programs."""
    names = ("is_full", "first_event", "last_event", "moves", "jobs", "breach_count", "breaches")
    return to_json({name: getattr(record, name) for name in names}, indent=2).decode() + "\n"
