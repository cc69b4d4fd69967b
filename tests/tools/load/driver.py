"""A load test as a backend and a script would do it: conversions go in, are handed out and acknowledged, by HTTP."""

import http.client
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

TIMEOUT = 120.0  # seconds for one answer
TRIES = 5


class Failed(Exception):
    """Why a run broke off, in words."""


@dataclass
class Tally:
    """How many rows came how far; several threads count in it."""

    entered: int = 0
    handed_out: int = 0
    acknowledged: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, number: int) -> None:
        """Count rows."""
        with self.lock:
            setattr(self, name, getattr(self, name) + number)


@dataclass(frozen=True)
class LoadTest:
    """One run against one site."""

    url: str
    site: str
    key: str
    rows: int
    batch: int
    clients: int
    tally: Tally = field(default_factory=Tally)

    def fill(self) -> None:
        """Send every row, in batches, by several clients at once."""
        run = secrets.token_hex(6)
        starts = iter(range(0, self.rows, self.batch))
        turn = threading.Lock()

        def take_turn() -> int | None:
            with turn:
                return next(starts, None)

        def send() -> None:
            with closing(Client(self.url, self.key)) as client:
                while (first := take_turn()) is not None:
                    items = conversions(run, first, min(self.batch, self.rows - first))
                    answer = client.post("/api/oci/conversions", {"siteId": self.site, "conversions": items})
                    self.tally.add("entered", answer["created"])

        self._together(send)

    def drain(self) -> None:
        """Hand out and acknowledge until nothing is left."""

        def pull() -> None:
            address = f"/api/oci/google-ads-export?siteId={self.site}&markAsExported=true&limit={self.batch}"
            with closing(Client(self.url, self.key)) as client:
                while items := client.get(address):
                    self.tally.add("handed_out", len(items))
                    body = {"siteId": self.site, "queueIds": [item["id"] for item in items]}
                    self.tally.add("acknowledged", client.post("/api/oci/ack", body)["updated"])

        self._together(pull)

    def _together(self, work: Callable[[], None]) -> None:
        with ThreadPoolExecutor(self.clients) as pool:
            for task in [pool.submit(work) for _ in range(self.clients)]:
                task.result()


def conversions(run: str, first: int, count: int) -> list[dict[str, Any]]:
    """Return conversions that no other run sends."""
    then = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")
    same = {"conversionName": "Load test", "conversionTime": then, "conversionValue": 10, "conversionCurrency": "TRY"}
    names = (f"{run}-{number}" for number in range(first, first + count))
    return [{**same, "gclid": f"load-{name}", "sourceKey": f"load-{name}"} for name in names]


class Client:
    """One connection that stays open; a busy server is waited for, as its answer asks."""

    def __init__(self, url: str, key: str) -> None:
        """Read the address; connect at the first request."""
        parts = urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT)
        self.headers = {"x-api-key": key, "Content-Type": "application/json"}

    def close(self) -> None:
        """Hang up."""
        self.connection.close()

    def get(self, path: str) -> Any:
        """Ask."""
        return self._answer("GET", path, None)

    def post(self, path: str, body: Any) -> Any:
        """Send."""
        return self._answer("POST", path, json.dumps(body).encode())

    def _answer(self, method: str, path: str, body: bytes | None) -> Any:
        for wait in self._waits():
            try:
                self.connection.request(method, path, body, self.headers)
                answer = self.connection.getresponse()
                said = answer.read()
            except (http.client.HTTPException, OSError) as error:
                self.connection.close()
                # A claim whose answer is lost stays claimed: asking again would hide that some rows went missing.
                if method == "GET":
                    raise Failed(f"The connection broke in the middle of an export: {error}.") from None
                time.sleep(wait)
                continue
            if answer.status in (429, 503):
                time.sleep(float(answer.headers.get("Retry-After") or wait))
                continue
            if answer.status != http.client.OK:
                raise Failed(
                    f"{method} {path.partition('?')[0]} answered {answer.status}: {said[:300].decode(errors='replace')}"
                )
            return json.loads(said)
        raise Failed(f"{method} {path.partition('?')[0]} got no answer in {TRIES} tries.")

    @staticmethod
    def _waits() -> Iterator[float]:
        yield from (2.0**number for number in range(TRIES))
