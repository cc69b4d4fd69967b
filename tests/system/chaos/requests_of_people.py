"""What must hold for corrections, erasures, drafts and sheets, and for the addresses of people."""

from pathlib import Path
from typing import TYPE_CHECKING

from django.db import connection

from ociqueue.models import Conversion
from ociqueue.values.identifiers import hash_email
from tests.system.chaos import ledger
from tests.system.chaos.clients import CLEAR
from tests.system.chaos.questions import rows

if TYPE_CHECKING:
    from tests.system.chaos.outside import World

COPIES = """
    SELECT o.id, 'has a copy and is not marked as replaced' FROM offline_conversion_queue o
      JOIN offline_conversion_queue c ON c.replaces_id = o.id WHERE NOT o.is_replaced
    UNION ALL SELECT o.id, 'is replaced and has ' || count(c.id) || ' copies' FROM offline_conversion_queue o
      LEFT JOIN offline_conversion_queue c ON c.replaces_id = o.id WHERE o.is_replaced
      GROUP BY o.id HAVING count(c.id) <> 1
    UNION ALL SELECT c.id, 'is a copy with another order id' FROM offline_conversion_queue c
      JOIN offline_conversion_queue o ON c.replaces_id = o.id WHERE c.order_id <> o.order_id
    UNION ALL SELECT e.object_id, 'moved to ' || e.to_state || ' after its copy was made' FROM lock_event e
      JOIN lock_event r ON r.object_id = e.object_id AND r.event_type = 'REPLACED' AND r.id < e.id
      WHERE e.from_state <> e.to_state
"""


def corrected_copies_take_the_place_of_their_rows() -> list[str]:
    """Each replaced conversion has one copy with its order id, and never moved again."""
    return [f"conversion {pk} {why}" for pk, why in rows(COPIES)]


ERASED = """
    SELECT id::text, 'is erased and still has ' || gclid || wbraid || gbraid || hashed_email || hashed_phone
      FROM offline_conversion_queue
      WHERE erased_at IS NOT NULL
        AND gclid || wbraid || gbraid || hashed_email || hashed_email_ads || hashed_phone <> ''
    UNION ALL SELECT r.id::text, 'was erased ' || count(e.id) || ' times' FROM offline_conversion_queue r
      LEFT JOIN lock_event e ON e.object_id = r.id AND e.event_type = 'ERASED'
      GROUP BY r.id HAVING count(e.id) <> (r.erased_at IS NOT NULL)::int
    UNION ALL SELECT 'in all', 'recorded ' || recorded || ', erased ' || erased
      FROM (SELECT coalesce(sum(rows_erased), 0) AS recorded FROM ociqueue_erasure) AS records,
        (SELECT count(*) AS erased FROM offline_conversion_queue WHERE erased_at IS NOT NULL) AS made
      WHERE recorded <> erased
"""


def erased_rows_identify_no_one() -> list[str]:
    """Erased conversions have no identifier left, were erased once, and the records of erasure add up."""
    return [f"conversion {pk}: {why}" for pk, why in rows(ERASED)]


DRAFTS = """
    SELECT d.id, 'was sent as another order' FROM orchestrator_orderdraft d JOIN orchestrator_job j ON j.id = d.job_id
      WHERE d.order_id <> j.order_id
    UNION ALL SELECT f.job_id, 'has a sheet that is not as it came' FROM orchestrator_orderfile f
      WHERE f.sha256 <> encode(sha256(f.content), 'hex')
    UNION ALL SELECT min(id::text)::uuid, 'is one of ' || count(*) || ' jobs of order ' || order_id
      FROM orchestrator_job GROUP BY order_id, revision HAVING count(*) > 1
"""


def each_order_has_one_job() -> list[str]:
    """However often an order is sent, as JSON, as a sheet or as a draft, it has one job and its sheet is complete."""
    return [f"{pk} {why}" for pk, why in rows(DRAFTS)]


def addresses_are_stored_as_hashes(world: "World") -> list[str]:
    """Each conversion has the hash of its address until it is erased, and no text anywhere has the address itself."""
    found = [f"{place} has an address in clear" for place in _places_in_clear(world)]
    sent = {key: who for line in ledger.lines(world.ledger, "made") for key, who in line.get("people", {}).items()}
    forgotten = set(ledger.counted(world.ledger, "forgotten"))
    for row in Conversion.objects.filter(source_key__in=sent).only("source_key", "hashed_email", "erased_at"):
        address = sent[str(row.source_key)]
        if row.erased_at is None and address in forgotten:
            found.append(f"{row} of somebody who was to be forgotten is not erased")
        if row.erased_at is None and row.hashed_email != hash_email(address).data_manager:
            found.append(f"{row} does not have the hash of its address")
    return found


def _places_in_clear(world: "World") -> list[str]:
    found = []
    tables = connection.introspection.table_names()
    for table in tables:
        ((number,),) = rows(f'SELECT count(*) FROM "{table}" AS t WHERE t::text LIKE %s', f"%{CLEAR}%")
        found += [f"table {table}"] if number else []
    found += [f"log {path.name}" for path in _logs(world) if CLEAR in path.read_text(errors="replace")]
    return found + [f"request {at}" for at, raw in enumerate(world.outgoing) if CLEAR.encode() in raw]


def _logs(world: "World") -> list[Path]:
    return sorted(world.saw_log.parent.glob("*.log"))
