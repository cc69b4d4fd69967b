"""The runner continues the trace of the request that created a job."""

from typing import Any

import pytest

from kilit.trace import current_trace
from orchestrator.workflow import runner
from tests.support.cutting_jobs import order_body

pytestmark = pytest.mark.django_db

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_the_runner_continues_the_trace_of_each_job(
    make_api: Any, customer: Any, floor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, seen = make_api(), []
    monkeypatch.setattr(runner, "work", lambda *_, **__: seen.append(current_trace()))
    api.headers["traceparent"] = f"00-{TRACE}-00f067aa0ba902b7-01"
    assert api.post("jobs", order_body()).status_code == 201
    del api.headers["traceparent"]
    assert api.post("jobs", order_body(order_id="without")).status_code == 201

    runner.tick(patient=False)

    assert [trace and trace.trace_id for trace in seen] == [TRACE, None]
