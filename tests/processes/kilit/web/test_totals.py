"""The metrics of the web are those of all processes of a real server, before and after a restart."""

import http.client
import re
from pathlib import Path

import pytest

from kilit.web.counter import REFUSED, REQUESTS, Series
from kilit.web.models import WebCounter, WebProcess
from tests.support.waiting import PATIENCE, wait_until
from tests.support.web_process import web_process

pytestmark = pytest.mark.django_db(transaction=True)

HEALTH = Series(REQUESTS, ("health", "read", "2xx"))


def ask(port: int, path: str, host: str = "localhost") -> tuple[int, str]:
    """Return the status and the text."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers={"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.nightly  # it restarts a server
def test_requests_of_all_processes_are_counted_and_none_is_lost_by_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        with web_process(tmp_path) as port:
            statuses = [ask(port, "/healthz")[0] for _ in range(60)]
            ask(port, "/admin/", host="elsewhere.example")
            wait_until(lambda: WebProcess.objects.alive().count() == 2)
        assert statuses == [200] * 60

    totals = WebCounter.objects.totals()
    assert totals[HEALTH] == 120
    assert totals[Series(REFUSED, ("host",))] == 2
    assert not WebProcess.objects.exists()


@pytest.mark.nightly  # it starts a server for one line
def test_the_server_says_its_version(tmp_path: Path) -> None:
    with web_process(tmp_path, KILIT_BUILD="1a2b3c4") as port:
        _status, text = ask(port, "/metrics")

    assert re.search(r'^kilit_build_info{build="1a2b3c4",version="\d+\.\d+\.\d+"} 1\.0$', text, re.MULTILINE)
