"""Header fields that gunicorn takes for variables of its own: no client sets them, nor a proxy on this machine."""

import json
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from tests.support.web_process import RawConnection, web_process

pytestmark = pytest.mark.django_db(transaction=True)

FIELDS = (
    "SCRIPT_NAME: /healthz",
    "SCRIPT_NAME: /elsewhere",
    "script_name: /healthz",
    "SCRIPT_NAME: /healthz\r\nSCRIPT_NAME: /elsewhere",
    "PATH_INFO: /readyz",
    "SCRIPT_NAME: /healthz\r\nPATH_INFO: /readyz",
    "REMOTE_USER: admin",
)
HEALTHY = (200, {"status": "ok"})


def ask(place: Any, field: str) -> tuple[int, Any]:
    with RawConnection(place) as connection:
        connection.send(f"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{field}\r\n\r\n")
        with HTTPResponse(connection.socket) as answer:
            answer.begin()
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith(b"{") else text


@pytest.mark.parametrize("proxies", ["0", pytest.param("1", marks=pytest.mark.nightly)])
def test_no_header_field_changes_the_path(tmp_path: Path, proxies: str) -> None:
    with web_process(tmp_path, KILIT_PROXIES=proxies) as port:
        answers = {field: ask(("127.0.0.1", port), field) for field in FIELDS}

    assert answers == dict.fromkeys(FIELDS, HEALTHY)


def test_no_header_field_changes_the_path_over_a_socket_of_the_file_system(tmp_path: Path) -> None:
    """There, gunicorn trusts whoever connects."""
    place = str(tmp_path / "web.socket")
    with web_process(tmp_path, path=place):
        answers = {field: ask(place, field) for field in FIELDS}

    assert answers == dict.fromkeys(FIELDS, HEALTHY)
