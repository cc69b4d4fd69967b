"""Logs are JSON, name request and actor, and hold no secrets or personal data."""

import json
import logging

import pytest
from django.test import Client

from config.settings.logs import ContextFilter, JsonFormatter, RedactingFilter, redact
from kilit.lock.audit import acting_as


def line(message: str, *args: object, **extra: object) -> dict:
    record = logging.LogRecord("kilit", logging.INFO, __file__, 1, message, args, None)
    record.__dict__.update(extra)
    ContextFilter().filter(record)
    return json.loads(JsonFormatter().format(record))


def test_a_line_is_one_json_object_with_time_level_and_actor() -> None:
    with acting_as("operator:ayşe"):
        entry = line("claimed %s", 3, rows=3)

    assert entry["message"] == "claimed 3"
    assert (entry["level"], entry["logger"], entry["actor"], entry["rows"]) == ("INFO", "kilit", "operator:ayşe", 3)
    assert entry["time"].endswith("Z")
    assert "request_id" not in entry


def test_a_message_with_line_breaks_stays_one_line() -> None:
    record = logging.LogRecord("kilit", logging.INFO, __file__, 1, 'a\nb"}\n{"level": "FAKE"}', (), None)
    ContextFilter().filter(record)

    assert "\n" not in JsonFormatter().format(record)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("key kilit_AbCdEfGh12345678 given", "key kilit_*** given"),
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer ***"),
        ("x-api-key: 0123456789abcdef", "x-api-key: ***"),
        ("Error handling request GET /pdf/links/WyIw.4Aj-_x", "Error handling request GET /pdf/links/***"),
        ("postgres://kilit:hunter2@db/kilit", "postgres://kilit:***@db/kilit"),
        ("bad row\nDETAIL:  Failing row contains (Cj0KCQ, ayse@example.com).\nend", "bad row\nDETAIL: ***\nend"),
    ],
)
def test_secrets_are_taken_out(written: str, kept: str) -> None:
    assert redact(written) == kept


def test_secrets_are_taken_out_of_the_lines_of_other_loggers() -> None:
    record = logging.LogRecord(
        "gunicorn.error", logging.ERROR, __file__, 1, "Error: %s", ("/pdf/links/WyIw.4Aj",), None
    )

    assert RedactingFilter().filter(record)
    assert record.getMessage() == "Error: /pdf/links/***"


@pytest.mark.django_db
def test_a_request_is_logged_without_its_query(caplog) -> None:
    with caplog.at_level(logging.INFO, logger="kilit.request"):
        answer = Client().get("/nothing?gclid=Cj0KCQsecret", headers={"x-request-id": "from-the-proxy-1"})

    (record,) = [record for record in caplog.records if record.name == "kilit.request"]
    assert (record.path, record.status, record.method) == ("/nothing", 404, "GET")
    assert "Cj0KCQsecret" not in str(record.__dict__)
    assert answer["X-Request-ID"] == "from-the-proxy-1"


def test_djangos_own_lines_do_not_show_the_query_either() -> None:
    assert "Cj0KCQ" not in str(line("Internal Server Error", request="<WSGIRequest: GET '/x?gclid=Cj0KCQ'>"))


@pytest.mark.django_db
def test_a_request_id_that_is_not_one_is_replaced() -> None:
    answer = Client().get("/healthz", headers={"x-request-id": 'x"} evil'})

    assert answer["X-Request-ID"].isalnum()


@pytest.mark.parametrize("host", ["evil.example", "x" * 5000, 'a\r\nb"{'], ids=["another", "long", "odd"])
def test_a_host_that_is_not_ours_is_one_line_without_a_traceback(caplog, host: str) -> None:
    answer = Client().get("/admin/", headers={"host": host})

    (record,) = [record for record in caplog.records if record.name.startswith("django.")]
    text = JsonFormatter().format(record)
    assert answer.status_code == 400
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert "Invalid HTTP_HOST header: " in text
    assert "Traceback" not in text
    assert len(text.splitlines()) == 1
    assert len(record.getMessage()) <= 300
