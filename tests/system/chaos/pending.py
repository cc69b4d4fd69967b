"""What has not ended, and until when it may wait: by the database's clock and the rules, not by the run's time."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from kilit.batches.models import BulkAction
from kilit.lock.models import Event
from kilit.lock.table import Kind, Lifecycle
from kilit.workers.doorbells import doorbells
from ociqueue.models.limits import STUCK_AFTER
from orchestrator.planning.rules import current_rules
from outbox import log_reader
from outbox.models import LogPosition
from tests.system.chaos.invariants import QUEUES
from tests.system.chaos.questions import rows

LIMIT = "its limit"  # of the rules: it passes by itself, and no leap of time moves it
MOST_MOVES = 200  # of one row in the calm; attempts, retries and lapses are all capped far below
UPLOAD_WAITS = """
    ('its retry', CASE WHEN status = 'RETRY' THEN next_retry_at END),
    ('its claim', CASE WHEN status = 'PROCESSING' THEN claimed_at + %(unreported)s END),
    ('its verdict', (SELECT min(next_check_at) FROM ociqueue_receipt c WHERE t.id = ANY(c.row_ids))),
    ('its circuit', (SELECT max(next_probe_at) FROM ociqueue_circuit c
      WHERE c.site_id = t.site_id AND c.status = 'OPEN'))
"""
# What rows of a queue wait for besides, and until when. The last of all decides.
OWN_WAITS = {
    "conversion": UPLOAD_WAITS,
    "adjustment": UPLOAD_WAITS,
    "message": "('its endpoint', (SELECT wait_until FROM outbox_endpoint p WHERE p.id = t.endpoint_id))",
    "cutting_job": """
    ('its next run', CASE WHEN claim_token IS NULL THEN next_run_at END),
    ('its limit', CASE status WHEN 'OPTI_RUNNING' THEN opti_started_at + %(solution)s
      WHEN 'XML_READY' THEN coalesce(handed_at, xml_ready_at) + %(saw)s END)
""",
}


def waits_of(table: Lifecycle, model: Any) -> str:
    """Return what rows wait for: a lease, the next attempt, and what is the queue's own."""
    columns = {field.name for field in model._meta.fields}
    waiting = ", ".join(f"'{state}'" for state in table.of_kind(Kind.WAITING))
    waits = {
        "lease_until": "('its claim', lease_until)",
        "next_try_at": f"('its retry', CASE WHEN status IN ({waiting}) THEN next_try_at END)",
    }
    return ", ".join(
        [*(sql for name, sql in waits.items() if name in columns), *filter(None, [OWN_WAITS.get(table.queue)])]
    )


WAITS = {table.queue: waits for table, model, *_ in QUEUES if (waits := waits_of(table, model))}
LEFT = """
    SELECT DISTINCT ON (t.id) t.id, t.status, what, extract(epoch FROM until - statement_timestamp())
    FROM {table} t, LATERAL (VALUES {waits}) AS waits(what, until)
    WHERE t.status <> ALL(%(ends)s) ORDER BY t.id, until DESC NULLS LAST LIMIT 100
"""


@dataclass(frozen=True)
class Pending:
    """A row that has not ended."""

    queue: str
    pk: Any
    state: str
    what: str
    seconds: float | None  # until that passes; negative after it has passed, None if it waits for no time

    def __str__(self) -> str:
        """Say what it waits for."""
        if self.seconds is None:
            return f"{self.queue} {self.pk} is {self.state} and waits for no time: something should take it"
        passes = f"passes in {self.seconds:.0f} s" if self.seconds > 0 else f"passed {-self.seconds:.0f} s ago"
        return f"{self.queue} {self.pk} is {self.state}, {self.what} {passes}"


def find_pending() -> list[Pending]:
    """Return rows that have not ended and wait for no operator, a hundred of each queue at most."""
    timeouts = current_rules().timeouts
    limits = {"unreported": STUCK_AFTER, "solution": timeouts.opti_xml, "saw": timeouts.osi_ack}
    found = []
    for table, model, _, ends in QUEUES:
        if table.queue in WAITS:
            sql = LEFT.format(table=model._meta.db_table, waits=WAITS[table.queue])
            params = {**limits, "ends": sorted(ends)}
            found += [
                Pending(table.queue, pk, state, what, None if left is None else float(left))
                for pk, state, what, left in rows(sql, params)
            ]
    return found


def summary(left: list[Pending]) -> str:
    """Return how many rows have not ended, by queue and state, with the reason of one of each."""
    groups: dict[tuple[str, str], list[Pending]] = defaultdict(list)
    for one in left:
        groups[one.queue, one.state].append(one)
    return "; ".join(f"{len(found)} of {queue} {state} ({found[0]})" for (queue, state), found in groups.items())


def waiting() -> int:
    """Return how many rows have not ended and wait for no operator; if none, events that were not read count as one.

    Rows are counted before and after: one that ends leaves an event to read, and an event that is read a message.
    """
    return _unended() or doorbells[log_reader.BELL].is_due() or _unended()


def _unended() -> int:
    return sum(model.objects.exclude(status__in=ends).count() for _, model, _, ends in QUEUES)


def progress() -> tuple[Any, ...]:
    """Return what changes whenever anything moves."""
    newest = Event.objects.order_by("-id").values_list("id", flat=True).first()
    read = sorted(LogPosition.objects.values_list("name", "event_id"))
    return newest, waiting(), read, sorted(BulkAction.objects.values_list("pk", "done_count"))


def endless(since: int) -> list[str]:
    """Return rows that have moved so often since an event that they would never end."""
    moved = rows(
        "SELECT queue, object_id, count(*) FROM lock_event WHERE id > %(since)s"
        " GROUP BY 1, 2 HAVING count(*) > %(most)s",
        {"since": since, "most": MOST_MOVES},
    )
    return [f"{queue} {pk} has moved {number} times since the storm and does not end" for queue, pk, number in moved]
