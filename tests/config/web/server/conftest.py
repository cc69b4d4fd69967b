"""A running web server with a small application."""

from collections.abc import Iterator

import pytest

from tests.support.web_server import RunningServer, web_server


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with web_server() as server:
        yield server
