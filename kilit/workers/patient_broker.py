"""The cluster's queue during an outage of the database: its processes wait, where django-q2's would end and log."""

import time
from typing import Any

from django.db import Error, connections
from django_q.conf import Conf

from kilit.database.outage import database_outage
from kilit.lock.outages import ReadOnlyDatabase
from kilit.workers.broker import Broker

PAUSE = 1.0  # seconds


class PatientBroker(Broker):
    def dequeue(self) -> Any:
        try:
            tasks = super().dequeue()
        except Error as error:
            self._note(error)
            time.sleep(PAUSE)
            return None  # the pusher then checks whether it has to stop
        database_outage.end()
        return tasks

    def acknowledge(self, task_id: Any) -> Any:
        """Remove a task; one that could not be removed runs again, which a doorbell allows."""
        for _ in range(2):  # the connection may have broken since the last task
            try:
                return super().acknowledge(task_id)
            except Error as error:
                self._note(error)
        return None

    def _note(self, error: Error) -> None:
        if not isinstance(error, ReadOnlyDatabase):  # which is logged by the backend
            database_outage.begin(error)
        connections[Conf.ORM].close()
