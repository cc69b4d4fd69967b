"""Which parts of the product a run has used: a guarantee that was not in play was not tested."""

import time

from django.db import Error, connection

from orchestrator.cutting.solving import missing
from tests.system.chaos import leaps
from tests.system.chaos.questions import rows

LOOK_EVERY = 3.0  # seconds

# The name of each part, and how often it was in play.
PARTS = {
    "conversions reported by a script": "SELECT count(*) {sent} 'script'",
    "conversions sent by the Google Ads API": "SELECT count(*) {sent} 'api'",
    "conversions sent by the Data Manager API": "SELECT count(*) {sent} 'datamanager'",
    "conversions sent by a hash alone": """SELECT count(*) FROM offline_conversion_queue
        WHERE status = 'COMPLETED' AND hashed_email <> ''
        AND gclid || wbraid || gbraid = ''""",
    "adjustments sent by the Google Ads API": "SELECT count(*) {adjusted} 'api'",
    "adjustments sent by the Data Manager API": "SELECT count(*) {adjusted} 'datamanager'",
    "circuits opened at the Google Ads API": "SELECT count(*) {opened} 'api'",
    "circuits opened at the Data Manager API": "SELECT count(*) {opened} 'datamanager'",
    "circuits closed": "SELECT count(*) FROM lock_event WHERE queue = 'circuit' AND details->>'verb' = 'close'",
    "bulk actions that moved rows": "SELECT count(*) FROM bulk_bulkaction WHERE moved_count > 0",
    "webhooks delivered": "SELECT count(*) FROM outbox_outboxmessage WHERE status = 'DELIVERED'",
    "webhooks tried again": """SELECT count(*) FROM lock_event
        WHERE queue = 'message' AND details->>'verb' IN ('retry_later', 'release', 'recover')""",
    "corrected copies": "SELECT count(*) FROM offline_conversion_queue WHERE replaces_id IS NOT NULL",
    "conversions erased": "SELECT count(*) FROM offline_conversion_queue WHERE erased_at IS NOT NULL",
    "orders from sheets": "SELECT count(*) FROM orchestrator_orderfile",
    "orders from drafts": "SELECT count(*) FROM orchestrator_orderdraft WHERE job_id IS NOT NULL",
    "orders delivered to the saw": "SELECT count(*) FROM orchestrator_job WHERE status = 'DONE' AND NOT by_hand",
    "orders cut by hand": "SELECT count(*) FROM orchestrator_job WHERE status = 'DONE' AND by_hand",
    "unknown handovers answered": """SELECT count(*) FROM lock_event
        WHERE queue = 'cutting_job' AND details->>'verb' IN ('confirm_cut', 'hand_over')""",
    "documents": "SELECT count(*) FROM pdfjobs_pdfjob WHERE status = 'succeeded'",
    "papers of orders": """SELECT count(*) FROM pdfjobs_pdfjob p JOIN orchestrator_job j
        ON p.payload::text LIKE '%%' || j.order_id || '%%'""",
}
STOCK_MOVES = "SELECT count(*) FROM lock_event WHERE queue = 'stock_item' AND details->>'verb'"
OF_THE_OPTIMISER = {
    "plans of the built-in optimiser": """SELECT count(*) FROM lock_event
        WHERE queue = 'cutting_job' AND details->>'verb' = 'plan'""",
    "boards and offcuts booked": f"{STOCK_MOVES} IN ('book', 'use')",
    "boards and offcuts given back": f"{STOCK_MOVES} = 'give_back'",
    "offcuts left by orders": "SELECT count(*) FROM orchestrator_stockitem WHERE made_by_id IS NOT NULL",
}
if not missing():
    PARTS |= OF_THE_OPTIMISER
OF_SITE = "JOIN ociqueue_site s ON s.id = r.site_id WHERE"
DONE = "r.status = 'COMPLETED' AND r.attempt_count > 0 AND s.sync_method ="
SHORTHAND = {
    "sent": f"FROM offline_conversion_queue r {OF_SITE} {DONE}",
    "adjusted": f"FROM ociqueue_adjustment r {OF_SITE} {DONE}",
    "opened": "FROM lock_event e JOIN ociqueue_circuit r ON r.id = e.object_id"
    f" {OF_SITE} e.details->>'verb' = 'trip' AND s.sync_method =",
}
# A probe may be due only after the strikes.
IN_THE_CALM = {"circuits closed"}


def count_parts() -> dict[str, int]:
    """Return how often each part was in play."""
    asked = " UNION ALL ".join(f"SELECT '{name}', ({sql.format(**SHORTHAND)})" for name, sql in PARTS.items())
    return dict(rows(asked))


class Look:
    """Looks now and then whether everything was in play that can be before the calm."""

    def __init__(self) -> None:
        """Have not looked yet."""
        self.next_look = 0.0

    def __call__(self) -> bool:
        """Return whether it was."""
        if time.monotonic() < self.next_look:
            return False
        self.next_look = time.monotonic() + LOOK_EVERY
        try:
            leaps.make_due()
            return all(number for name, number in count_parts().items() if name not in IN_THE_CALM)
        except Error:
            connection.close()
            return False
