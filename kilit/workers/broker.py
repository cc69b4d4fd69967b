"""django-q2's queue in PostgreSQL, woken by a notification instead of by polling alone, and by the database's clock.

Without it a doorbell waits for the next poll of the table, on average half of `poll`: longer than most tasks take. A
lost notification, or a pooler that passes none on, costs no more than that. django-q2 compares times of the machine
that stored a task with those of the machine that looks for it: with clocks an hour apart, that is an hour's wait.
"""

from datetime import timedelta
from typing import Any

from django.db import connections
from django.db.models.functions import Now
from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.models import OrmQ

CHANNEL = "kilit_tasks"


class Broker(ORM):  # type: ignore[misc]
    """The same table and rules as django-q2's own; only the wait and the clock differ."""

    _listening: Any = None  # the connection that listens; a new one, after that was closed, does not yet

    def enqueue(self, task: Any) -> Any:
        """Store a task, and notify the waiting cluster when the transaction commits."""
        key = self.list_key or Conf.CLUSTER_NAME
        stored = self.get_connection().create(key=key, payload=task, lock=Now())
        with connections[Conf.ORM].cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, key])
        return stored.pk

    def timeout(self, task: Any) -> Any:
        """Return until when a task is locked; it is taken again if its worker has not reported by then."""
        return Now() + timedelta(seconds=Conf.RETRY)

    def dequeue(self) -> Any:
        """Return tasks, or None after a wait that ends early when one is stored."""
        self._listen()  # before the query: a task stored after it wakes us
        if waiting := list(self.get_connection().filter(key=self.list_key, lock__lte=Now())[: Conf.BULK]):
            # Another process of this cluster may be faster.
            return [(task.pk, task.payload) for task in waiting if self._take(task)]
        # Other clusters' tasks wake us too: one query too many is cheaper than a channel for each.
        for _ in connections[Conf.ORM].connection.notifies(timeout=Conf.POLL, stop_after=1):
            break
        return None

    def _take(self, task: OrmQ) -> bool:
        same = self.get_connection().filter(pk=task.pk, lock=task.lock)
        return bool(same.update(lock=self.timeout(task)))

    def _listen(self) -> None:
        connection = connections[Conf.ORM]
        connection.ensure_connection()
        if self._listening is not connection.connection:
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self._listening = connection.connection
