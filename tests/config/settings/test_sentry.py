"""What is reported to Sentry, and what is not, as its transport gets it."""

import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import sentry_sdk
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest
from django.test import RequestFactory
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport

from config.settings.sentry import NOT_INSTALLED, start_sentry

DSN = "https://public@sentry.invalid/1"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CLICK = "Cj0KCQiA1" + "x" * 60
PRIVATE = ("ayse@example.com", "5551234567", CLICK, "kilit_AbCdEfGh12345678", "hunter2", "secret-cookie", "Ankara")


def break_down(_middleware: Any, request: HttpRequest) -> None:
    city = request.body.decode()
    raise ValueError(f"no offer for ayse@example.com, +90 555 123 45 67, {CLICK}, kilit_AbCdEfGh12345678" + city[:0])


class StandInTransport(Transport):
    sent: list[Any] = []

    def capture_envelope(self, envelope: Envelope) -> None:
        self.sent += [item.payload.json for item in envelope.items]


@pytest.fixture
def sent() -> Iterator[list[Any]]:
    """Report to a transport of this test's own, and to no one afterwards."""
    StandInTransport.sent = []
    start_sentry(DSN, errors_percent=100, traces_percent=100, transport=StandInTransport)
    yield StandInTransport.sent
    sentry_sdk.init(default_integrations=False)  # otherwise it reads the user of each request that fails


@pytest.mark.django_db  # the end of a request looks at connections that earlier tests left open
def test_a_failing_request_is_reported_without_personal_data(sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.contrib.sessions.middleware.SessionMiddleware.process_request", break_down)
    headers = {"x-api-key": "kilit_AbCdEfGh12345678", "x-request-id": "from-the-proxy-1", "user-agent": "shop/1"}
    headers |= {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01", "cookie": "sessionid=secret-cookie"}
    request = RequestFactory().post(f"/orders/7?gclid={CLICK}", "Ankara", content_type="text/plain", headers=headers)

    WSGIHandler()(request.environ, lambda *_: None).close()

    error = next(one for one in sent if "exception" in one)
    (raised,) = error["exception"]["values"]
    assert raised["type"] == "ValueError"
    assert raised["value"] == "no offer for a…@example.com, …4567, ***, kilit_***"
    assert raised["stacktrace"]["frames"][-1]["function"] == "break_down"
    assert error["request"]["url"].endswith("/orders/7")
    assert set(error["request"]) == {"method", "url", "headers"}
    assert {name.lower() for name in error["request"]["headers"]} <= {
        "user-agent",
        "content-type",
        "content-length",
        "x-request-id",
    }
    assert error["tags"] == {"request_id": "from-the-proxy-1", "trace_id": TRACE}
    assert any(one.get("type") == "transaction" for one in sent)
    text = json.dumps([without_source(one) for one in sent])
    assert [one for one in PRIVATE if one in text] == []
    assert '"vars"' not in text


def without_source(value: Any) -> Any:
    """Leave out the lines of this file, which the stack shows."""
    if isinstance(value, dict):
        lines = ("context_line", "pre_context", "post_context")
        return {key: without_source(one) for key, one in value.items() if key not in lines}
    return [without_source(one) for one in value] if isinstance(value, list) else value


def test_an_error_that_a_worker_logs_is_reported_masked(sent: list[Any]) -> None:
    logging.getLogger("django-q").error("Failed '%s' - %s", "answer", "DETAIL: row (ayse@example.com)\nend")
    logging.getLogger("kilit").error("postgres://kilit:hunter2@db/kilit", extra={"city": "Ankara"})
    logging.getLogger("kilit").warning("not reported")

    text = json.dumps(sent)
    assert len(sent) == 2
    assert "Failed '" in text
    assert [one for one in PRIVATE if one in text] == []


def test_requests_to_others_carry_nothing_of_sentrys(sent: list[Any]) -> None:
    assert sentry_sdk.get_client().options["trace_propagation_targets"] == []


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)

    with pytest.raises(ImproperlyConfigured, match="sentry-sdk is not installed") as error:
        start_sentry(DSN, errors_percent=100, traces_percent=0)

    assert str(error.value) == NOT_INSTALLED


def test_an_invalid_address_is_named_without_its_key() -> None:
    with pytest.raises(ImproperlyConfigured, match="is not of the form https://key@host/project") as error:
        start_sentry("hunter2", errors_percent=100, traces_percent=0)

    assert "hunter2" not in str(error.value)
