"""What must hold in the database whatever happened: each check returns the breaches it found, in words."""

from typing import Any

from kilit.audit.run import audit
from kilit.batches.models import BulkAction
from kilit.batches.queues import queues
from kilit.batches.states import BULK_ACTIONS
from kilit.lock.models import Count
from kilit.lock.table import Kind, Lifecycle
from ociqueue.models import Adjustment, Circuit, Conversion
from ociqueue.states import CIRCUITS
from orchestrator.models import StockItem
from orchestrator.states import STOCK
from outbox.models import OutboxMessage
from pdfjobs.models import PdfJob
from tests.support.stock import stock_adds_up
from tests.system.chaos import requests_of_people
from tests.system.chaos.questions import Check, rows

# What rows are counted by, besides their state.
COUNTED_BY = {Conversion: "site_id::text", Adjustment: "site_id::text", PdfJob: "error_code", OutboxMessage: "scope"}
QUEUES: list[tuple[Lifecycle, Any, str, set[str]]] = [
    # The table, its rows, what they are counted by, and the states in which a job has ended or waits for a person.
    *(
        (queue.table, queue.model, COUNTED_BY.get(queue.model, "''"), {*queue.table.of_kind(Kind.DONE, Kind.FAILED)})
        for queue in queues.values()
    ),
    (BULK_ACTIONS, BulkAction, "''", {"DONE", "CANCELLED", "FAILED", "READY"}),
    (CIRCUITS, Circuit, "site_id::text", {"CLOSED", "OPEN"}),
    (STOCK, StockItem, "''", {*STOCK.states}),
]


def every_job_ended() -> list[str]:
    """Every job has ended or waits for an operator, and no claim is left."""
    found = []
    for table, model, _, ends in QUEUES:
        name = model._meta.db_table
        for status, number in rows(f"SELECT status, count(*) FROM {name} GROUP BY status"):
            if status not in ends:
                found.append(f"{number} of {table.queue} still {status}")
    held = {
        model._meta.db_table: field.column
        for _, model, *_ in QUEUES
        for field in model._meta.fields
        if field.column in ("claim_token", "open_batch_id")
    }
    for name, column in held.items():
        ((number,),) = rows(f"SELECT count(*) FROM {name} WHERE {column} IS NOT NULL")
        found += [f"{number} of {name} are held still"] if number else []
    return found


def the_log_is_audited() -> list[str]:
    """An audit of the whole event log finds nothing: every move is listed, and the rows are where it leads."""
    record = audit(full=True)
    return [f"{breach['queue']} {breach['job']}: {breach['fault']} ({breach['details']})" for breach in record.breaches]


def totals_are_exact() -> list[str]:
    """The maintained totals equal counted rows, for every site and state."""
    found = []
    for table, model, scope, _ in QUEUES:
        counted = {
            (scope_, state): number
            for scope_, state, number in rows(
                f"SELECT {scope}, status, count(*) FROM {model._meta.db_table} GROUP BY 1, 2"
            )
        }
        recorded = {(t.scope, t.state): t.now for t in Count.objects.totals(queue=table.queue) if t.now}
        found += [
            f"{table.queue} {key}: recorded {recorded.get(key, 0)}, there are {counted.get(key, 0)}"
            for key in sorted(counted.keys() | recorded.keys())
            if counted.get(key, 0) != recorded.get(key, 0)
        ]
    return found


PDF_CLAIMS = """
    SELECT object_id, count(*) FILTER (WHERE details->>'verb' = 'claim') AS claims,
      count(*) FILTER (WHERE details->>'verb' IN ('succeed', 'fail')) AS ends
    FROM lock_event WHERE queue = 'pdf' GROUP BY object_id
    HAVING count(*) FILTER (WHERE details->>'verb' = 'claim')
      <> count(*) FILTER (WHERE details->>'verb' IN ('succeed', 'fail'))
"""
RETRIES = """
    SELECT r.id, r.retry_count, count(e.id) FROM {table} r
    LEFT JOIN lock_event e ON e.object_id = r.id AND e.details->>'verb' = 'retry' AND e.id > coalesce((
      SELECT max(id) FROM lock_event f WHERE f.object_id = r.id AND f.details->>'verb' = 'retry_selected'), 0)
    GROUP BY r.id HAVING r.retry_count <> count(e.id)
"""


def retries_were_made() -> list[str]:
    """A document has a result for each claim, and as many retries as were made."""
    found = [f"pdf {pk}: {claims} claims, {ends} ends" for pk, claims, ends in rows(PDF_CLAIMS)]
    for table in ("pdfjobs_pdfjob", "orchestrator_job"):
        recorded = rows(RETRIES.format(table=table))
        found += [f"{table} {pk}: says {says} retries, {made} were made" for pk, says, made in recorded]
    return found


SLOT = """
    SELECT id, holders FROM (
      SELECT id, sum((to_state = 'OPTI_RUNNING')::int - (from_state = 'OPTI_RUNNING')::int) OVER (ORDER BY id)
        AS holders FROM lock_event WHERE queue = 'cutting_job' AND from_state <> to_state
    ) AS walked WHERE holders > 1
"""
UPLOAD_CLAIMS = """
    SELECT s.id, coalesce(sum(b.size), 0), (
      SELECT count(*) FROM lock_event e JOIN (
        SELECT id, site_id FROM offline_conversion_queue UNION ALL SELECT id, site_id FROM ociqueue_adjustment
      ) AS r ON r.id = e.object_id WHERE r.site_id = s.id AND e.details->>'verb' = 'claim')
    FROM ociqueue_site s LEFT JOIN ociqueue_uploadbatch b ON b.site_id = s.id
    WHERE s.sync_method <> 'script' GROUP BY s.id
"""


def one_holder_at_a_time() -> list[str]:
    """No claimed row is claimed again, OptiPlanning serves one job at a time, and a document belongs to its claim."""
    found = [
        f"{queue} {pk} was claimed while it was held"
        for queue, pk in rows(
            "SELECT queue, object_id FROM lock_event WHERE details->>'verb' = 'claim' AND from_state = to_state"
        )
    ]
    found += [f"OptiPlanning was {holders} jobs' at event {pk}" for pk, holders in rows(SLOT)]
    for site, size, claims in rows(UPLOAD_CLAIMS):
        found += [f"site {site}: uploads claimed {size} rows, {claims} claims"] if size != claims else []
    for job in PdfJob.objects.filter(status="succeeded").only("artifact_key", "started_at"):
        mark = f"{job.started_at:%Y%m%dT%H%M%S%f}.pdf"
        if not job.artifact_key.endswith(mark):
            found.append(f"pdf {job.pk}: its file {job.artifact_key} is of another claim than {mark}")
    return found


GROUPS = """
    SELECT coalesce(recorded.queue, made.queue), coalesce(recorded.error_group, made.error_group),
      recorded.number, made.number
    FROM (
      SELECT queue, scope, state, error_group, sum(total)::bigint AS number FROM (
        SELECT queue, scope, state, error_group, total FROM lock_errorgroup
        UNION ALL SELECT queue, scope, state, error_group, change FROM lock_errordelta
      ) AS parts GROUP BY 1, 2, 3, 4 HAVING sum(total) <> 0
    ) AS recorded FULL JOIN (
      SELECT 'conversion' AS queue, site_id::text AS scope, status AS state, error_group, count(*) AS number
        FROM offline_conversion_queue WHERE status IN ('FAILED', 'RETRY') AND error_group <> '' GROUP BY 2, 3, 4
      UNION ALL SELECT 'adjustment', site_id::text, status, error_group, count(*) FROM ociqueue_adjustment
        WHERE status IN ('FAILED', 'RETRY') AND error_group <> '' GROUP BY 2, 3, 4
      UNION ALL SELECT 'pdf', '', status, error_group, count(*) FROM pdfjobs_pdfjob
        WHERE status = 'failed' AND error_group <> '' GROUP BY 3, 4
      UNION ALL SELECT 'cutting_job', '', status, error_group, count(*) FROM orchestrator_job
        WHERE status IN ('HOLD', 'FAILED') AND error_group <> '' GROUP BY 3, 4
      UNION ALL SELECT 'message', scope, status, error_group, count(*) FROM outbox_outboxmessage
        WHERE status = 'FAILED' AND error_group <> '' GROUP BY 2, 3, 4
    ) AS made ON (recorded.queue, recorded.scope, recorded.state, recorded.error_group)
      = (made.queue, made.scope, made.state, made.error_group)
    WHERE recorded.number IS DISTINCT FROM made.number
"""
BULK = """
    SELECT b.id, b.done_count, b.moved_count, coalesce(left_sum.number, 0),
      count(i.id) FILTER (WHERE i.result <> ''), count(i.id) FILTER (WHERE i.result = 'changed'),
      count(i.id) FILTER (WHERE i.result = 'skipped'),
      (SELECT count(*) FROM lock_event e WHERE e.message LIKE '%%(bulk action ' || b.id || ')')
    FROM bulk_bulkaction b LEFT JOIN bulk_bulkitem i ON i.action_id = b.id
    LEFT JOIN LATERAL (SELECT sum((skip->>2)::int) AS number FROM jsonb_array_elements(b.skipped) AS skip)
      AS left_sum ON true
    GROUP BY b.id, left_sum.number
"""


def sums_add_up() -> list[str]:
    """Error groups equal their rows, and a bulk action's numbers equal its results and its events."""
    found = [
        f"{queue} group {group}: recorded {recorded}, there are {made}" for queue, group, recorded, made in rows(GROUPS)
    ]
    for pk, done, moved, left, lines, lines_moved, lines_left, events in rows(BULK):
        if (done, moved, left) != (lines, lines_moved, lines_left) or moved != events:
            recorded = f"says {done} done, {moved} moved, {left} left"
            found.append(f"bulk action {pk} {recorded}; lines {lines}, {lines_moved}, {lines_left}; {events} events")
    return found


INSIDE: list[Check] = [
    every_job_ended,
    the_log_is_audited,
    totals_are_exact,
    retries_were_made,
    one_holder_at_a_time,
    sums_add_up,
    stock_adds_up,
    requests_of_people.corrected_copies_take_the_place_of_their_rows,
    requests_of_people.erased_rows_identify_no_one,
    requests_of_people.each_order_has_one_job,
]
# What holds at any moment, also while everything runs.
ALWAYS: list[Check] = [the_log_is_audited, one_holder_at_a_time]
