"""Hears from inside the cluster that a task went all the way."""

import logging
from typing import Any

from django.db import DatabaseError
from django.db.models.functions import Now
from django_q.conf import Conf
from django_q.signals import post_execute

from kilit.workers.models import Heartbeat

logger = logging.getLogger(__name__)


def connect() -> None:
    """Listen in every process; django-q2 only speaks inside a cluster, whose name is its supervisor's."""
    post_execute.connect(note_beat, dispatch_uid="kilit.workers.heartbeat")


def note_beat(**_: Any) -> None:
    """Write the heartbeat; django-q2 sends this from its monitor, after the broker was told that the task is done.

    So a beat proves the pusher, a worker, the monitor and the broker at once. Nothing less is a sign of life: a wedged
    cluster reports itself as idle.
    """
    try:
        Heartbeat.objects.filter(name=Conf.CLUSTER_NAME).update(beat_at=Now())
    except DatabaseError:
        # An exception here would end the monitor, and the next beat tells as much as this one.
        logger.warning("heartbeat not written", exc_info=True)
