"""django-q2's queue in PostgreSQL, woken by a notification instead of by polling, and by the database's clock.

Without it a doorbell waits for the next poll of the table, on average half of `poll`: longer than most tasks take; and
an idle cluster asks ten times a second. Behind a pooler, which passes no notifications on, it does just that.
django-q2 compares times of the machine that stored a task with those of the machine that looks for it: with clocks an
hour apart, that is an hour's wait.
"""

import time
from datetime import timedelta
from typing import Any

from django.db import Error, connections
from django.db.models.functions import Now
from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.models import OrmQ

from kilit.database.outage import database_outage
from kilit.lock.outages import note_outage
from kilit.workers.notifications import Listener

CHANNEL = "kilit_tasks"
# A task whose worker died becomes due without a notification. Less than a cluster may be silent (STALE_AFTER): if ever
# no notification arrived, heartbeats would still pass.
LOOK_EVERY = 20.0  # seconds
NOTICE_STOP = 1.0  # seconds after which the pusher checks whether it has to stop
OUTAGE_PAUSE = 1.0  # seconds

# A task for each of these rows; one, mostly.
STORE = """
    stored AS (
      INSERT INTO django_q_ormq (key, payload, lock) SELECT %s, %s, statement_timestamp() FROM {rows} RETURNING id
    )
    SELECT id, pg_notify(%s, %s) FROM stored
"""
STORE_ONE = f"WITH {STORE.format(rows='(SELECT) AS one')}"
# The last column says whether more are waiting: if not, the next notification is soon enough to look again.
TAKE = """
    WITH due AS (
        SELECT id FROM django_q_ormq WHERE key = %(key)s AND lock <= statement_timestamp()
        ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    UPDATE django_q_ormq AS task SET lock = statement_timestamp() + make_interval(secs => %(hidden)s)
    FROM due WHERE task.id = due.id
    RETURNING task.id, task.payload, EXISTS (
        SELECT FROM django_q_ormq AS other
        WHERE other.key = %(key)s AND other.lock <= statement_timestamp() AND other.id NOT IN (SELECT id FROM due)
    )
"""


class Broker(ORM):
    """The same table and rules as django-q2's own; only the wait and the clock differ."""

    def __init__(self, list_key: str | None = None) -> None:
        super().__init__(list_key)
        self._listener = Listener(CHANNEL, using=Conf.ORM)
        self._next_look = 0.0

    @staticmethod
    def get_connection(list_key: str | None = None) -> Any:  # noqa: ARG004 - as django-q2 calls it
        """Return the table; django-q2 would also test the connection before each use, and replace it each minute."""
        return OrmQ.objects.using(Conf.ORM)

    def enqueue(self, task: object) -> Any:
        return self.store(STORE_ONE, [], task)

    def store(self, statement: str, params: list[Any], task: Any) -> int | None:
        """Run a statement that ends with STORE; return the id of the task, or None if it stored nothing."""
        key = self.list_key or Conf.CLUSTER_NAME
        with connections[Conf.ORM].cursor() as cursor:
            cursor.execute(statement, [*params, key, task, CHANNEL, key])
            row = cursor.fetchone()
        return row[0] if row else None

    def timeout(self, task: object) -> Any:
        """Return until when a task is locked; it is taken again if its worker has not reported by then."""
        return Now() + timedelta(seconds=Conf.RETRY)

    def dequeue(self) -> object:
        """Return tasks, or None after a wait that ends early when one is stored."""
        if self._listener.listen():  # before the query: a task stored after it wakes us
            self._next_look = 0.0
        if time.monotonic() >= self._next_look and (taken := self._take()):
            return taken
        wait = min(self._next_look - time.monotonic(), NOTICE_STOP)
        if self.list_key in self._listener.wait(wait):
            self._next_look = 0.0
        return None

    def _take(self) -> list[tuple[int, str]]:
        values = {"key": self.list_key, "limit": Conf.BULK, "hidden": Conf.RETRY}
        with connections[Conf.ORM].cursor() as cursor:
            cursor.execute(TAKE, values)
            rows = cursor.fetchall()
        pause = LOOK_EVERY if self._listener.hears else Conf.POLL
        more = any(row[2] for row in rows)
        self._next_look = 0.0 if more else time.monotonic() + pause
        return [(pk, payload) for pk, payload, _ in rows]

    def set_stat(self, key: str, value: str, timeout: int) -> None:
        """Store nothing: twice a second django-q2 would store its status in a cache that only this process can read."""

    def delete(self, task_id: object) -> None:
        """Delete a task in one statement, without a transaction around it."""
        self.get_connection().filter(pk=task_id)._raw_delete(Conf.ORM)


class PatientBroker(Broker):
    """The cluster's own: during an outage its processes wait, where django-q2's would end and log."""

    def dequeue(self) -> object:
        try:
            tasks = super().dequeue()
        except Error as error:
            note_outage(error)
            time.sleep(OUTAGE_PAUSE)
            return None  # the pusher then checks whether it has to stop
        database_outage.end()
        return tasks

    def acknowledge(self, task_id: object) -> object:
        """Remove a task; one that could not be removed runs again, which a doorbell allows."""
        for _ in range(2):  # the connection may have broken since the last task
            try:
                return super().acknowledge(task_id)
            except Error as error:
                note_outage(error)
        return None
