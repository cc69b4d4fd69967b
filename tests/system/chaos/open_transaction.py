"""A transaction that someone left open: a report, a forgotten psql. PostgreSQL cleans up nothing meanwhile."""

import threading
import time
from contextlib import suppress

import psycopg
from django.db import connection

RETRY = 0.5  # seconds


class OpenTransaction(threading.Thread):
    """Holds a snapshot until it is told to end; what ends its connection makes it take another one."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.address = connection.get_connection_params()
        self.over = threading.Event()
        self.seconds, self.longest = 0.0, 0.0

    def run(self) -> None:
        while not self.over.wait(RETRY):
            with suppress(psycopg.Error):
                self._hold()

    def _hold(self) -> None:
        names = ("host", "port", "user", "password", "dbname")
        address = {name: self.address[name] for name in names if self.address.get(name)}
        with psycopg.connect(**address, application_name="forgotten report", connect_timeout=5) as holder:
            holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            holder.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            begun = time.monotonic()
            try:
                while not self.over.wait(RETRY):
                    holder.execute("SELECT count(*) FROM ociqueue_site")
            finally:
                lasted = time.monotonic() - begun
                self.seconds, self.longest = self.seconds + lasted, max(self.longest, lasted)

    def end(self) -> None:
        self.over.set()
        self.join(timeout=30)
