"""The sign of life of a cluster: a task that went all the way through it."""

from django.db import Error
from django.db.models.functions import Now
from django_q.conf import Conf

from kilit.database.outage import database_outage
from kilit.workers.models import Heartbeat


def beat() -> None:
    """Do nothing: the task's passage through the cluster is the message."""


def note_beat(**_: object) -> None:
    """Write the heartbeat of the cluster, which has its supervisor's name.

    django-q2's monitor sends `post_execute` after the broker has acknowledged a task, so a beat proves pusher, worker,
    monitor and broker at once. Nothing less is a sign of life: a hung cluster reports itself as idle.
    """
    try:
        Heartbeat.objects.filter(name=Conf.CLUSTER_NAME).update(beat_at=Now())
    except Error as error:
        # An exception here would end the monitor, and the next beat proves as much as this one.
        database_outage.begin(error)
