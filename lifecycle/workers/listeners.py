"""Hears from inside the cluster that a task went all the way."""

import logging
import os
from typing import Any

from django.db import DatabaseError
from django.db.models.functions import Now
from django_q.signals import post_execute

from lifecycle.models import Heartbeat

logger = logging.getLogger(__name__)

SUPERVISOR = "KILIT_SUPERVISOR"


def connect() -> None:
    """Listen in every process; only a cluster under a supervisor has something to say."""
    post_execute.connect(note_beat, dispatch_uid="lifecycle.heartbeat")


def note_beat(**_: Any) -> None:
    """Write the heartbeat; django-q2 sends this from its monitor, after the broker was told that the task is done.

    So a beat proves the pusher, a worker, the monitor and the broker at once. Nothing less is a sign of life: a wedged
    cluster reports itself as idle.
    """
    name = os.environ.get(SUPERVISOR)
    if not name:
        return
    try:
        Heartbeat.objects.filter(name=name).update(beat_at=Now())
    except DatabaseError:
        # An exception here would end the monitor, and the next beat tells as much as this one.
        logger.warning("heartbeat not written", exc_info=True)
