"""Clients of all kinds that keep asking, and remember each answer that was not as it should be."""

import http.client
import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Self

from pdfjobs.documents import document
from tests.support.slow_clients import TRUSTING
from tests.support.waiting import PATIENCE

PAUSE = 0.1  # seconds, for each of five: dozens of requests meet every restart, and it gets some of the processor too
YESTERDAY = (datetime.now(UTC) - timedelta(days=1)).isoformat(timespec="seconds")


class Clients:
    """Threads that ask until they are stopped; each request is a connection of its own, and none is repeated."""

    def __init__(self, port: int, logins: dict[str, Any], *, round_name: str, tls: bool = False) -> None:
        self.port, self.logins, self.round_name, self.tls = port, logins, round_name, tls
        self.stopping = threading.Event()
        self.failures: list[str] = []
        self.answers = 0
        self.documents: set[str] = set()
        self.conversions: set[str] = set()
        self.acknowledged: set[str] = set()
        kinds = [self.look, self.look, self.look, self.ask_for_documents, self.send_conversions, self.work_conversions]
        self.threads = [threading.Thread(target=self._keep_asking, args=(kind,)) for kind in kinds]

    def __enter__(self) -> Self:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join(timeout=PATIENCE)

    def wait_for_answers(self, number: int) -> None:
        """Wait until that many more came."""
        goal, end = self.answers + number, time.monotonic() + PATIENCE
        while self.answers < goal and not self.failures:
            assert time.monotonic() < end, "clients get no answers"
            time.sleep(0.05)

    def ask(self, method: str, path: str, *, key: str = "", body: Any = None) -> Any:
        """Send one request, once."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        if self.tls:
            connection = http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE, context=TRUSTING)
        headers = {"x-api-key": key, "Content-Type": "application/json"} if key else {}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 400:
            raise http.client.HTTPException(f"{answer.status} {text[:300]!r}")
        self.answers += 1
        return json.loads(text)

    def _keep_asking(self, kind: Callable[[int], None]) -> None:
        for number in count():
            if self.stopping.is_set():
                return
            try:
                kind(number)
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.failures.append(f"{kind.__name__}: {type(error).__name__} {error}")
                time.sleep(0.2)

    def look(self, number: int) -> None:
        self.ask("GET", "/healthz" if number % 2 else "/pdf/templates", key=self.logins["service"]["api_key"])
        time.sleep(PAUSE)

    def ask_for_documents(self, number: int) -> None:
        variables = {**document("offer").sample, "number": f"{self.round_name}-{number}"}
        body = {"template_name": "offer", "variables": variables}
        job = self.ask("POST", "/pdf/jobs", key=self.logins["service"]["api_key"], body=body)
        self.documents.add(job["job_id"])
        time.sleep(1.5)

    def send_conversions(self, number: int) -> None:
        site = self.logins["script_site"]
        key = f"{self.round_name}-{number}"
        conversion: dict[str, Any] = {
            "conversionName": "Satış",
            "gclid": f"Cj0-{key}",
            "conversionTime": YESTERDAY,
            "sourceKey": key,
        }
        conversion |= {"conversionValue": 10, "conversionCurrency": "TRY"}
        body = {"siteId": site["public_id"], "conversions": [conversion]}
        answer = self.ask("POST", "/api/oci/conversions", key=site["api_key"], body=body)
        if refused := [each for each in answer["results"] if "id" not in each]:
            raise http.client.HTTPException(f"refused: {refused}")
        self.conversions |= {each["id"] for each in answer["results"]}
        time.sleep(PAUSE)

    def work_conversions(self, number: int) -> None:
        """Claim and acknowledge, as a script does."""
        site = self.logins["script_site"]
        export = f"/api/oci/google-ads-export?siteId={site['public_id']}&markAsExported=true&limit=20"
        claimed = [each["id"] for each in self.ask("GET", export, key=site["api_key"])]
        if claimed:
            body = {"siteId": site["public_id"], "queueIds": claimed}
            answer = self.ask("POST", "/api/oci/ack", key=site["api_key"], body=body)
            assert answer["ignored"] == []
            self.acknowledged |= set(claimed)
        time.sleep(0.2)
