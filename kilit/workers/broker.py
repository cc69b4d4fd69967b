"""django-q2's queue in PostgreSQL, woken by a notification instead of by polling alone.

Without it a doorbell waits for the next poll of the table, on average half of `poll`: longer than most tasks take. A
lost notification, or a pooler that passes none on, costs no more than that.
"""

from typing import Any

from django.db import connections
from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.conf import Conf

CHANNEL = "kilit_tasks"


class Broker(ORM):  # type: ignore[misc]
    """The same table and rules as django-q2's own; only the wait differs."""

    _listening: Any = None  # the connection that listens; a new one, after that was closed, does not yet

    def enqueue(self, task: Any) -> Any:
        """Store a task, and notify the waiting cluster when the transaction commits."""
        stored = super().enqueue(task)
        with connections[Conf.ORM].cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, self.list_key or Conf.CLUSTER_NAME])
        return stored

    def dequeue(self) -> Any:
        """Return tasks, or None after a wait that ends early when one is stored."""
        waiting = self.get_connection().filter(key=self.list_key, lock__lt=timezone.now())
        self._listen()  # before the query: a task stored after it wakes us
        if waiting.exists():
            return super().dequeue()
        # Other clusters' tasks wake us too: one query too many is cheaper than a channel for each.
        for _ in connections[Conf.ORM].connection.notifies(timeout=Conf.POLL, stop_after=1):
            break
        return None

    def _listen(self) -> None:
        connection = connections[Conf.ORM]
        connection.ensure_connection()
        if self._listening is not connection.connection:
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self._listening = connection.connection
