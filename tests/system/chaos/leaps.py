"""Leaps of time, so that a run need not wait for a night: what is measured against the clock is moved to the past.

Nothing else is written: no state, no claim, no counter.
"""

import os
import time
from pathlib import Path

from django.db import connection

LEASES = ("pdfjobs_pdfjob", "orchestrator_job", "bulk_bulkaction", "outbox_outboxmessage")
AN_AGE = 3 * 3600  # seconds
UPLOADED = ("offline_conversion_queue", "ociqueue_adjustment")


def lapse(*, share: float = 1.0) -> None:
    """Let leases and claims grow old, of all rows or of about a share of them."""
    with connection.cursor() as cursor:
        for table in LEASES:
            cursor.execute(
                f"UPDATE {table} SET lease_until = now() - interval '1 second'"
                " WHERE lease_until IS NOT NULL AND random() < %s",
                [share],
            )
        for table in UPLOADED:
            cursor.execute(
                f"UPDATE {table} SET claimed_at = claimed_at - interval '1 hour'"
                " WHERE status = 'PROCESSING' AND random() < %s",
                [share],
            )
    make_due()


def make_due() -> None:
    """Let the time come that rows wait for: retries, the next look into a folder, probes, verdicts."""
    with connection.cursor() as cursor:
        for table in UPLOADED:
            cursor.execute(f"UPDATE {table} SET next_retry_at = now() WHERE status = 'RETRY' AND next_retry_at > now()")
        cursor.execute(
            "UPDATE orchestrator_job SET next_run_at = now() WHERE claim_token IS NULL AND next_run_at > now()"
            " AND status <> 'OPTI_IMPORTED'"
        )
        cursor.execute(
            "UPDATE outbox_outboxmessage SET next_try_at = now() WHERE status = 'RETRY' AND next_try_at > now()"
        )
        cursor.execute("UPDATE outbox_endpoint SET wait_until = NULL WHERE wait_until > now()")
        cursor.execute("UPDATE ociqueue_receipt SET next_check_at = now() WHERE next_check_at > now()")
        cursor.execute("DELETE FROM ociqueue_requestquota")  # a minute has passed
    make_probes_due()


def make_probes_due() -> None:
    """Let open circuits try again."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ociqueue_circuit SET next_probe_at = now() WHERE status = 'OPEN'")


def age_files(folder: Path) -> None:
    """Let files look old, so that a cleanup that spares the young finds those of nobody."""
    then = time.time() - AN_AGE
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (then, then))
