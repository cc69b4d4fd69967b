"""The web server of the Procfile under clients that send a byte a second: everyone else is served as before."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from ociqueue.models import Site
from tests.support.slow_clients import SlowClients
from tests.support.waiting import PATIENCE, wait_until
from tests.support.web_process import web_process

pytestmark = pytest.mark.django_db(transaction=True)


class HonestClient:
    def __init__(self, port: int) -> None:
        self.port = port
        self.site = Site.objects.create(name="Honest", default_currency="TRY")
        self.key = self.site.issue_key(name="honest")

    def health(self) -> int:
        return self._ask(urllib.request.Request(f"http://127.0.0.1:{self.port}/healthz"))

    def verify(self) -> int:
        """Send a request that reads the database."""
        body = json.dumps({"siteId": str(self.site.public_id)}).encode()
        headers = {"x-api-key": self.key, "Content-Type": "application/json"}
        return self._ask(urllib.request.Request(f"http://127.0.0.1:{self.port}/api/oci/v2/verify", body, headers))

    def _ask(self, request: urllib.request.Request) -> int:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            answer.read()
            return int(answer.status)


@pytest.fixture
def honest(tmp_path: Path) -> Iterator[HonestClient]:
    with web_process(tmp_path, KILIT_HEADER_SECONDS="4", KILIT_BODY_SECONDS="4") as port:
        yield HonestClient(port)


def test_eight_strangers_who_send_half_a_header_do_not_stop_the_web(honest: HonestClient) -> None:
    with SlowClients(honest.port, headers=8) as strangers:
        while_they_send = [(honest.health(), honest.verify()) for _ in range(3)]
        wait_until(lambda: not strangers.still_open())

    assert while_they_send == [(200, 200)] * 3
    assert strangers.answers == [b"HTTP/1.1 408 Request Timeout"] * 8


def test_no_honest_request_fails_under_500_slow_headers_and_100_slow_bodies(honest: HonestClient) -> None:
    statuses = []
    with SlowClients(honest.port, headers=500, bodies=100, key=honest.key) as strangers:
        while strangers.still_open():
            statuses += [honest.health(), honest.verify()]

    assert set(statuses) == {200}
    assert len(strangers.answers) == 600
    assert {answer.split()[1] for answer in strangers.answers} <= {b"408", b"429"}


def test_a_large_body_is_received_for_a_valid_key_only(honest: HonestClient) -> None:
    body = json.dumps({"siteId": str(honest.site.public_id), "queueIds": ["x" * 1000] * 1000}).encode()

    def send(key: str) -> int:
        headers = {"x-api-key": key, "Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{honest.port}/api/oci/ack", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    assert [send(honest.key), send("forged"), send("")] == [200, 401, 401]
