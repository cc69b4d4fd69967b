"""The heartbeat: proof from inside the cluster that a task went all the way through it."""

import logging
from typing import Any

from django.db import DatabaseError
from django.db.models.functions import Now
from django_q.conf import Conf
from django_q.signals import post_execute

from kilit.workers.models import Heartbeat

logger = logging.getLogger(__name__)


def beat() -> None:
    """Do nothing: the task's passage through the cluster is the message."""


def connect() -> None:
    """Listen in every process; django-q2 sends the signal only inside a cluster, which has its supervisor's name."""
    post_execute.connect(note_beat, dispatch_uid="kilit.workers.heartbeat")


def note_beat(**_: Any) -> None:
    """Write the heartbeat; django-q2's monitor calls this after the broker has acknowledged a task.

    So a beat proves pusher, worker, monitor and broker at once. Nothing less is a sign of life: a hung cluster reports
    itself as idle.
    """
    try:
        Heartbeat.objects.filter(name=Conf.CLUSTER_NAME).update(beat_at=Now())
    except DatabaseError:
        # An exception here would end the monitor, and the next beat proves as much as this one.
        logger.warning("heartbeat not written", exc_info=True)
