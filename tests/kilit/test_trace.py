"""A caller's trace is in the log lines of its request; what is no `traceparent` is ignored."""

import logging

import pytest
from django.test import Client

from kilit.trace import current_trace, job_trace, parse_traceparent, request_trace
from tests.support.fixtures.log_lines import log_lines  # noqa: F401 - a fixture

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = f"00-{TRACE}-{CALLER}-01"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "garbage",
        GIVEN.upper(),
        GIVEN + "-more",
        f"{GIVEN},{GIVEN}",  # sent twice
        f"00-{'0' * 32}-{CALLER}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-{CALLER}-01",
        f"0-{TRACE}-{CALLER}-01",
        f"00-{TRACE[:-1]}-{CALLER}-01",
        f"00-{TRACE}-{CALLER}",
        f"00-{TRACE}-{CALLER}-1",
        f"cc-{TRACE}-{CALLER}-01more",
    ],
)
def test_what_is_no_traceparent_begins_a_trace_of_our_own(header: str) -> None:
    with request_trace(header):
        begun = current_trace()

    assert parse_traceparent(header) is None
    assert begun
    assert begun.trace_id != TRACE
    assert not begun.is_callers
    assert parse_traceparent(str(begun))


@pytest.mark.parametrize(
    "header", [GIVEN, f" {GIVEN} ", f"cc-{TRACE}-{CALLER}-ff", f"cc-{TRACE}-{CALLER}-09-what-is-to-come"]
)
def test_a_trace_is_continued_with_a_span_of_our_own(header: str) -> None:
    with request_trace(header):
        first = current_trace()
    with request_trace(header):
        second = current_trace()

    assert first
    assert second
    assert {first.trace_id, second.trace_id} == {TRACE}
    assert len({first.span_id, second.span_id, CALLER}) == 3
    assert str(first) == f"00-{TRACE}-{first.span_id}-0{3 if header.endswith('ff') else 1}"
    assert current_trace() is None


def test_work_for_a_job_without_a_trace_has_none() -> None:
    with request_trace(GIVEN), job_trace("", "job"):
        assert current_trace() is None


@pytest.mark.parametrize("header", [GIVEN, ""])
def test_a_request_is_logged_with_its_trace(header: str, log_lines: pytest.LogCaptureFixture) -> None:  # noqa: F811
    with log_lines.at_level(logging.INFO, logger="kilit.request"):
        Client().get("/static/nothing", headers={"traceparent": header} if header else {})
        Client().get("/static/nothing", headers={"traceparent": header} if header else {})

    first, second = [record for record in log_lines.records if record.name == "kilit.request"]
    assert (first.trace_id == second.trace_id == TRACE) is bool(header)
    assert first.span_id != second.span_id
    assert (len(first.trace_id), len(first.span_id)) == (32, 16)
