"""gunicorn's threaded worker as the Procfile starts it, without a proxy, as on a developer's machine."""

import gzip
import http.client
import json
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ociqueue.models import Site
from tests.support.slow_clients import SlowClients
from tests.support.waiting import PATIENCE
from tests.support.web_process import RawConnection, web_process

pytestmark = pytest.mark.django_db(transaction=True)

HEADER = "POST /healthz HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEADER + "Transfer-Encoding: chunked\r\n\r\n"
AMBIGUOUS = {
    "a length and chunks": HEADER + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": HEADER + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "a list of lengths": HEADER + "Content-Length: 5, 5\r\n\r\nhello",
    "a length with a sign": HEADER + "Content-Length: +5\r\n\r\nhello",
    "a length with letters": HEADER + "Content-Length: 0x5\r\n\r\nhello",
    "chunked twice": HEADER + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "not chunked at last": HEADER + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bare line feeds": "GET / HTTP/1.1\nHost: localhost\n\n",
    "a space before the colon": "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "a folded line": "GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n",
    "a NUL": "GET / HTTP/1.1\r\nHost: local\x00host\r\n\r\n",
    "no version": "GET /\r\n\r\n",
    "a chunk size with a sign": CHUNKED + "+5\r\nhello\r\n0\r\n\r\n",
    "a chunk size with a prefix": CHUNKED + "0x5\r\nhello\r\n0\r\n\r\n",
    "no chunk size": CHUNKED + "\r\nhello\r\n0\r\n\r\n",
    "a chunk that is longer than its size": CHUNKED + "4\r\nhello\r\n0\r\n\r\n",
    "a chunk ended by a line feed": CHUNKED + "5\r\nhello\n0\r\n\r\n",
}


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with web_process(tmp_path) as port:
        yield port


def verify(port: int, site: Site, key: str) -> int:
    body = json.dumps({"siteId": str(site.public_id)}).encode()
    headers = {"x-api-key": key, "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/oci/v2/verify", body, headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return int(answer.status)


def test_eight_strangers_who_send_half_a_header_or_half_a_body_do_not_stop_the_web(port: int) -> None:
    site = Site.objects.create(name="Honest", default_currency="TRY")
    key = site.issue_key(name="honest")

    with SlowClients(port, headers=4, bodies=4, key=key) as strangers:
        answers = [verify(port, site, key) for _ in range(5)]

        assert strangers.still_open() == 8
    assert answers == [200] * 5


def test_an_ambiguous_request_is_refused_with_all_that_follows_it(port: int) -> None:
    answers = {}
    for name, request in AMBIGUOUS.items():
        with RawConnection(("127.0.0.1", port)) as connection:
            connection.send(request + "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answers[name] = connection.read_all()

    assert {name for name, answer in answers.items() if answer.split()[1][:1] not in b"45"} == set()
    # The application names in its 404 what it was asked for.
    assert {name for name, answer in answers.items() if b"smuggled" in answer} == set()


def test_a_refused_body_ends_its_connection_and_the_answer_says_so(port: int) -> None:
    site = Site.objects.create(name="Honest", default_currency="TRY")
    bomb = gzip.compress(bytes(20 * 1024**2))
    headers = {"x-api-key": site.issue_key(name="honest"), "Content-Type": "application/json"}

    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request("POST", "/api/oci/conversions", bomb, {**headers, "Content-Encoding": "gzip"})
        answer = connection.getresponse()

        assert (answer.status, answer.headers["Connection"]) == (413, "close")
