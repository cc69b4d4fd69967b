"""Requests are counted by kind, however they end, and refused ones by reason."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.test import RequestFactory

from config.web.address_kinds import OTHER, kind_of, kinds
from kilit.web.counter import (
    BUCKET,
    REFUSED,
    REQUESTS,
    SECONDS,
    CountedApplication,
    RequestCounter,
    Series,
)
from tests.support.admin_addresses import routes


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def counter(clock: Clock) -> RequestCounter:
    return RequestCounter(clock)


def application(status: str = "200 OK", body: Any = (b"",), then: Callable[[], None] = lambda: None) -> Any:
    def answer(_environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        start_response(status, [])
        then()
        return body

    return answer


def call(application: Any, counter: RequestCounter, path: str = "/healthz", method: str = "GET") -> None:
    """Call an application as a web server does."""
    environ = RequestFactory().generic(method, path).environ
    answer: Any = CountedApplication(application, kind_of, counter)(environ, lambda *_: None)
    try:
        list(answer)
    finally:
        answer.close()


def counted(counter: RequestCounter, metric: str) -> dict[tuple[str, ...], float]:
    return {series.labels: value for series, value in counter.take().counts.items() if series.metric == metric}


@pytest.mark.parametrize(
    ("method", "path", "status", "labels"),
    [
        ("GET", "/admin/ociqueue/conversion/", "200 OK", ("console", "read", "2xx")),
        ("HEAD", "/static/console/console.css", "304 Not Modified", ("static", "read", "3xx")),
        ("POST", "/api/oci/ack", "200 OK", ("api_script", "write", "2xx")),
        ("DELETE", "/no/such/path", "404 Not Found", ("other", "write", "4xx")),
        ("BREW", "/pdf/jobs", "500 Internal Server Error", ("api_pdf", "write", "5xx")),
    ],
)
def test_a_request_is_counted_by_kind_method_and_status(counter, method, path, status, labels) -> None:
    call(application(status), counter, path, method)

    assert counted(counter, REQUESTS) == {labels: 1}


def test_an_application_that_fails_is_counted_as_an_error(counter: RequestCounter) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("a fault")

    with pytest.raises(RuntimeError):
        call(fail, counter)

    assert counted(counter, REQUESTS) == {("health", "read", "5xx"): 1}


def test_a_streamed_answer_takes_until_its_end(counter: RequestCounter, clock: Clock) -> None:
    def stream() -> Iterator[bytes]:
        for _ in range(4):
            clock.now += 0.5
            yield b"line"

    call(application(body=stream()), counter, "/api/oci/conversions/export")

    numbers = counter.take()
    assert numbers.counts[Series(SECONDS, ("api_conversions",))] == 2.0
    assert numbers.counts[Series(BUCKET, ("api_conversions", "5"))] == 1  # from one to three seconds
    assert numbers.busy == 1.0


def test_an_answer_that_breaks_off_is_counted_once(counter: RequestCounter) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise OSError("the client is gone")

    with pytest.raises(OSError, match="the client is gone"):
        call(application(body=broken()), counter)

    assert counted(counter, REQUESTS) == {("health", "read", "2xx"): 1}


def test_busy_threads_are_an_average_with_those_still_at_work(counter: RequestCounter, clock: Clock) -> None:
    began_at = counter.begin()
    counter.begin()
    clock.now += 2
    counter.end(began_at, kind="other", method="read", status="2xx", reason=None)
    clock.now += 2

    first = counter.take()
    clock.now += 3
    second = counter.take()

    assert (first.busy, second.busy) == (1.5, 1.0)


@pytest.mark.parametrize(
    ("status", "counts"),
    [
        ("401 Unauthorized", {("unauthenticated",): 1}),
        ("403 Forbidden", {("forbidden",): 1}),
        ("413 Content Too Large", {("body_too_large",): 1}),
        ("429 Too Many Requests", {("too_many_requests",): 1}),
        *((status, {}) for status in ("200 OK", "400 Bad Request", "404 Not Found", "500 Internal Server Error")),
    ],
)
def test_refused_requests_and_no_others_are_counted_by_reason(counter: RequestCounter, status: str, counts) -> None:
    call(application(status), counter)

    assert counted(counter, REFUSED) == counts


@pytest.mark.django_db
def test_a_request_for_an_unknown_host_is_counted_as_refused(counter: RequestCounter) -> None:
    environ = RequestFactory(headers={"host": "evil.example"}).get("/admin/").environ
    answer: Any = CountedApplication(WSGIHandler(), kind_of, counter)(environ, lambda *_: None)
    answer.close()

    assert counted(counter, REFUSED) == {("host",): 1}


def test_every_address_of_the_product_has_a_kind() -> None:
    addresses = ["/" + route.replace("\\Z", "").replace("^", "").replace("$", "") for route, _pattern in routes()]
    kinds_of_addresses = {address: kind_of(address) for address in addresses}

    assert len(kinds_of_addresses) > 100
    assert OTHER not in kinds_of_addresses.values()
    assert {*kinds_of_addresses.values(), "static", OTHER} == set(kinds())
