"""What must hold between the database and the world: files, the saw, Google, and the replies that clients got."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from kilit.lock.models import Event
from ociqueue.models import Adjustment, Conversion, Receipt
from ociqueue.models.conversion import PREFIX
from orchestrator.models import Job
from outbox.models import OutboxMessage
from pdfjobs.models import PdfJob
from pdfjobs.storage import artifacts
from tests.system.chaos import ledger
from tests.system.chaos.questions import Check, rows
from tests.system.chaos.requests_of_people import addresses_are_stored_as_hashes

TOOK = "The saw took "


@dataclass
class World:
    """What the run saw outside the database."""

    ledger: Path
    saw: Path
    saw_log: Path
    sent: Counter[str] = field(default_factory=Counter)  # order ids, as often as Google received them
    applied: set[str] = field(default_factory=set)  # order ids that Google counts
    requests: dict[str, list[str]] = field(default_factory=dict)  # order ids that Data Manager took, by request id
    confirmed: set[str] = field(default_factory=set)  # order ids that Data Manager counts
    values: dict[str, list[float]] = field(default_factory=dict)  # that Data Manager was sent, by order id
    counted: dict[str, Decimal | None] = field(default_factory=dict)  # at Google, by order id; None if retracted
    outgoing: list[bytes] = field(default_factory=list)  # every request to Google
    accepted: Counter[str] = field(default_factory=Counter)  # ids of webhooks, as often as the receiver accepted them
    receiver: dict[str, Any] = field(default_factory=dict)


def nothing_is_lost(world: World) -> list[str]:
    """Everything acknowledged to a client is stored once, and no valid request was rejected, or answered with 500."""
    refused = (line for line in ledger.lines(world.ledger, "refused") if line["status"] == 500)
    found = [
        f"{line['path']} answered {line['status']}: {line['reply']}"
        for line in (*ledger.lines(world.ledger, "mistaken"), *refused)
    ]
    for line in ledger.lines(world.ledger, "made"):
        model = {"pdf": PdfJob, "cutting_job": Job}.get(line["queue"])
        key = "pk__in" if model else "source_key__in"
        there = (model or Conversion).objects.filter(**{key: line["ids"]}).count()
        if there != len(set(line["ids"])):
            found.append(f"{line['queue']}: {line['ids']} were taken, {there} are there")
    return found


def each_order_is_delivered_once(world: World) -> list[str]:
    """The saw received each solution of a DONE order once, and never two of one order; people cut what it never got."""
    found = []
    took = Counter(line.removeprefix(TOOK).rstrip(".") for line in _saw_lines(world.saw_log) if line.startswith(TOOK))
    found += [f"the saw took {name} {number} times" for name, number in took.items() if number > 1]
    processed = Counter(path.name[:36] for path in (world.saw / "processed").glob("*.xml"))
    inbox = Counter(path.name[:36] for path in (world.saw / "inbox").glob("*.xml"))
    asked = Event.objects.filter(queue="cutting_job", details__verb="confirm_cut")
    confirmed = {str(pk) for pk in asked.values_list("object_id", flat=True)}
    for job in Job.objects.defer("payload"):
        pk = str(job.pk)
        if processed[pk] > 1:
            found.append(f"job {pk}: {processed[pk]} solutions were cut")
        # An operator who asked at the saw has the last word on a file that left no trace.
        taken = processed[pk] + (pk in confirmed)
        has = f"{taken} in processed/ or confirmed, {inbox[pk]} in inbox/"
        if job.by_hand:
            found += [f"job {pk} is cut by hand: {has}"] if (taken, inbox[pk]) != (0, 0) else []
            continue
        if job.status == "DONE" and (taken, inbox[pk]) != (1, 0):
            found.append(f"job {pk} is DONE: {has}")
        if job.status == "DONE" and job.solution_files.filter(acknowledged_as="").exists():
            found.append(f"job {pk} is DONE without the saw's answer")
    known = {str(pk) for pk in Job.objects.values_list("pk", flat=True)}
    found += [f"the saw has a file of nobody: {pk}" for pk in (processed | inbox) if pk not in known]
    return found


def each_document_has_its_file(world: World) -> list[str]:
    """Each succeeded document has its complete file, and each file its document."""
    del world
    found = []
    expected = dict(PdfJob.objects.exclude(artifact_key="").values_list("artifact_key", "artifact_digest"))
    there = {file.key for file in artifacts.list_files()}
    found += [f"no file {key}" for key in sorted(expected.keys() - there)]
    found += [f"a file of nobody: {key}" for key in sorted(there - expected.keys())]
    for key in expected.keys() & there:
        with artifacts.open_file(key) as file:
            if hashlib.sha256(file.read()).hexdigest() != expected[key]:
                found.append(f"{key} is not as it was written")
    return found


def scripts_were_handed_what_they_claimed(world: World) -> list[str]:
    """No row was handed out more often than claimed, and every COMPLETED row was acknowledged by a script."""
    handed, acked = ledger.counted(world.ledger, "handed"), ledger.counted(world.ledger, "acked")
    found = []
    for row in Conversion.objects.filter(site__sync_method="script"):
        name = f"{PREFIX}{row.pk}"
        if handed[name] > row.attempt_count:
            found.append(f"{name} was handed out {handed[name]} times, claimed {row.attempt_count} times")
        if row.status == "COMPLETED" and not (acked[name] and handed[name]):
            found.append(f"{name} is COMPLETED, but no script was handed it and said so")
    return found


def google_has_what_is_completed(world: World) -> list[str]:
    """Google has every COMPLETED row, every row it has is COMPLETED or unknown, and a claim sends it once."""
    found = []
    claims = _claims("api")
    for row in Conversion.objects.filter(site__sync_method="api", is_replaced=False):
        if row.status == "COMPLETED" and row.order_id not in world.applied:
            found.append(f"{row} is COMPLETED, but Google has it not")
        if row.status != "COMPLETED" and row.order_id in world.applied and not row.outcome_unknown:
            found.append(f"{row} is {row.status}, but Google has it and the outcome is not marked as unknown")
        if world.sent[row.order_id] > claims[row.order_id]:
            found.append(f"{row} was sent {world.sent[row.order_id]} times, claimed {claims[row.order_id]} times")
    twice = rows(
        "SELECT order_id, count(*) FROM offline_conversion_queue WHERE NOT is_replaced"
        " GROUP BY order_id HAVING count(*) > 1"
    )
    return found + [f"{number} rows share the order id {order_id}" for order_id, number in twice]


def _claims(sender: str) -> Counter[str]:
    """Return how often each order id was claimed: a corrected copy is sent under that of its original."""
    found: Counter[str] = Counter()
    for order_id, attempts in Conversion.objects.filter(site__sync_method=sender).values_list(
        "order_id", "attempt_count"
    ):
        found[order_id] += attempts
    return found


def data_manager_has_what_is_completed(world: World) -> list[str]:
    """Data Manager counts what is COMPLETED and nothing else that is known, and receipts are as it took the rows."""
    found = []
    taken = Counter(order_id for order_ids in world.requests.values() for order_id in order_ids)
    claimed = _claims("datamanager")
    for row in Conversion.objects.filter(site__sync_method="datamanager", is_replaced=False):
        if row.status == "COMPLETED" and row.order_id not in world.confirmed:
            found.append(f"{row} is COMPLETED, but Data Manager does not count it")
        if row.status != "COMPLETED" and row.order_id in world.confirmed and not row.outcome_unknown:
            found.append(f"{row} is {row.status}, but Data Manager counts it and the outcome is not marked as unknown")
        claims = claimed[row.order_id] + sum(row.adjustments.values_list("attempt_count", flat=True))
        if taken[row.order_id] > claims:
            found.append(f"{row} was taken {taken[row.order_id]} times, claimed {claims} times")
        if row.order_id in world.sent:
            found.append(f"{row} was sent by two senders")
    order_ids = {row.pk: row.order_id for model in (Conversion, Adjustment) for row in model.objects.only("order_id")}
    for receipt in Receipt.objects.all():
        if [order_ids.get(pk, "") for pk in receipt.row_ids] != world.requests.get(receipt.request_id):
            found.append(f"{receipt} does not list its rows in the order that Data Manager took them")
        settled = receipt.confirmed + receipt.rejected + receipt.put_off + receipt.late
        if receipt.settled_at and settled != len(receipt.row_ids):
            found.append(f"{receipt} has {len(receipt.row_ids)} rows, and {settled} verdicts")
    return found


TAKEN_BACK = ("recover", "reset_to_queued", "mark_failed")


def adjustments_are_the_last_word(world: World) -> list[str]:
    """No conversion was sent after its adjustment, and Google counts the value of the last that is COMPLETED."""
    found = _at_google_ads(world)
    # A paused sender may still send what was taken back from it.
    late = set(Event.objects.filter(details__verb__in=TAKEN_BACK).values_list("object_id", flat=True))
    for row in Conversion.objects.filter(site__sync_method="datamanager").prefetch_related("adjustments"):
        adjustments = sorted(row.adjustments.all(), key=lambda one: one.adjusted_at)
        values, own = world.values.get(row.order_id, []), float(row.value)
        if not values or late & {row.pk, *(one.pk for one in adjustments)}:
            continue
        first = next((at for at, value in enumerate(values) if value != own), len(values))
        if own in values[first:]:
            found.append(f"{row} was sent after its adjustment: {values}")
        # One that was sent and failed may have been applied, or not.
        sent = [one for one in adjustments if one.attempt_count]
        if sent and all(one.status == "COMPLETED" for one in sent) and values[-1] != float(sent[-1].value or 0):
            found.append(f"{row} was adjusted to {sent[-1].value}, but Data Manager has {values[-1]}")
    return found


def _at_google_ads(world: World) -> list[str]:
    found = []
    for row in Conversion.objects.filter(site__sync_method="api").prefetch_related("adjustments"):
        sent = [one for one in sorted(row.adjustments.all(), key=lambda one: one.adjusted_at) if one.attempt_count]
        if not sent or any(one.status != "COMPLETED" for one in sent):
            continue
        counted = world.counted.get(row.order_id, Decimal(-1))
        if counted != (None if sent[-1].is_retraction else sent[-1].value):
            found.append(f"{row} was adjusted to {sent[-1].value}, but Google counts {counted}")
    return found


# The moves that both endpoints of a run listen to. A failed document counts only if it is not retried at once.
REPORTED = """
    SELECT e.id, p.id FROM lock_event e JOIN outbox_endpoint p
      ON p.scope = '' OR p.scope = (SELECT r.site_id::text FROM offline_conversion_queue r WHERE r.id = e.object_id)
    WHERE e.details->>'verb' IS DISTINCT FROM 'undo_retry' AND (
      (e.queue, e.event_type) IN (('conversion', 'STATE_UPLOADED'), ('conversion', 'STATE_COMPLETED'),
      ('conversion', 'STATE_FAILED'), ('adjustment', 'STATE_UPLOADED'), ('adjustment', 'STATE_COMPLETED'),
      ('adjustment', 'STATE_FAILED'), ('pdf', 'STATE_SUCCEEDED'), ('cutting_job', 'STATE_DONE'),
      ('cutting_job', 'STATE_FAILED'), ('cutting_job', 'STATE_HOLD'))
      OR (e.queue, e.event_type) = ('pdf', 'STATE_FAILED') AND NOT EXISTS (SELECT FROM lock_event n
        WHERE n.object_id = e.object_id AND n.id > e.id AND n.created_at = e.created_at AND n.to_state = 'queued'))
    EXCEPT SELECT event_id, endpoint_id FROM outbox_outboxmessage
"""
INVENTED = """
    SELECT m.id, m.event_id FROM outbox_outboxmessage m LEFT JOIN lock_event e ON e.id = m.event_id
    WHERE e.object_id IS DISTINCT FROM m.object_id
"""


def each_event_is_reported(world: World) -> list[str]:
    """Each committed move that an endpoint listens to has one message, delivered under its one id; no other has any."""
    found = [f"event {event} has no message for endpoint {endpoint}" for event, endpoint in rows(REPORTED)]
    found += [f"message {pk} reports event {event}, which does not exist" for pk, event in rows(INVENTED)]
    delivered = {
        f"msg_{pk.hex}" for pk in OutboxMessage.objects.filter(status="DELIVERED").values_list("pk", flat=True)
    }
    known = {f"msg_{pk.hex}" for pk in OutboxMessage.objects.values_list("pk", flat=True)}
    found += [f"{name} is DELIVERED, but the receiver does not have it" for name in delivered - world.accepted.keys()]
    found += [f"the receiver has {name}, which is no message" for name in world.accepted.keys() - known]
    faults = {"invalid": "not signed properly", "changed": "sent with another body under the same id"}
    return found + [f"{world.receiver[name]} were {text}" for name, text in faults.items() if world.receiver.get(name)]


SENT_AGAIN = """
    SELECT before.verb, before.code, count(*) FROM (
      SELECT details->>'verb' AS verb, to_state, object_id,
        CASE WHEN details->>'verb' IN ('defer', 'ack_failed') THEN details->>'provider_error_code' ELSE '' END AS code,
        lead(to_state) OVER (PARTITION BY object_id ORDER BY id) AS after FROM (
          SELECT * FROM lock_event
            WHERE queue = 'conversion' AND from_state <> to_state AND 'PROCESSING' IN (from_state, to_state)) AS moves
    ) AS before JOIN offline_conversion_queue r ON r.id = before.object_id
    WHERE before.to_state <> 'PROCESSING' AND before.after = 'PROCESSING' AND r.order_id = ANY(%s)
    GROUP BY 1, 2 ORDER BY 3 DESC
"""


def why_sent_again(world: World) -> str:
    """Return how claims ended that were followed by another one, of what Google received more than once."""
    twice = [order_id for order_id, number in world.sent.items() if number > 1]
    ends = [f"{verb} {code}".strip() + f" {number}" for verb, code, number in rows(SENT_AGAIN, twice)]
    return f"; their earlier claims ended by {', '.join(ends)}" if ends else ""


def _saw_lines(log: Path) -> list[str]:
    return log.read_text(errors="replace").splitlines() if log.exists() else []


OUTSIDE: list[Check] = [
    nothing_is_lost,
    each_order_is_delivered_once,
    each_document_has_its_file,
    scripts_were_handed_what_they_claimed,
    google_has_what_is_completed,
    data_manager_has_what_is_completed,
    adjustments_are_the_last_word,
    each_event_is_reported,
    addresses_are_stored_as_hashes,
]
