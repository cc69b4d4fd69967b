"""Keeps to Google's limit of requests: all sites of an OAuth client, or of a service account's project, share it."""

import logging
import time

from django.db import connection

from kilit.lock.outages import DATABASE_DOWN
from ociqueue.models.quota import REFILL, RequestQuota

logger = logging.getLogger(__name__)

TRY_AGAIN_AFTER = 1 / REFILL  # seconds


def can_send(project: str) -> bool:
    """Return whether a request fits now, without counting it."""
    return RequestQuota.objects.of(project).with_tokens().exists()


def can_ask(project: str) -> bool:
    """Return whether a question for a verdict fits now, and count it."""
    return RequestQuota.objects.of(project).take_question()


def wait_to_send(project: str, *, until: float) -> bool:
    """Count a request, waiting for its turn until then (`time.monotonic`); false if there is none by then."""
    try:
        quota = RequestQuota.objects.of(project)
        while not quota.take():
            if time.monotonic() + TRY_AGAIN_AFTER > until:
                return False
            time.sleep(TRY_AGAIN_AFTER)
    except DATABASE_DOWN as error:
        # An upload has several requests: what earlier ones were answered must reach the caller all the same.
        if connection.in_atomic_block:
            raise
        logger.warning("no database connection; the request is not sent: %s", " ".join(str(error).split()))
        connection.close()
        return False
    return True
