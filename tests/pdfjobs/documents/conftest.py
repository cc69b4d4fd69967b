"""An image server on this machine, reached by public names."""

import socket
from collections.abc import Iterator

import pytest

from pdfjobs.documents import images
from tests.support.image_server import Server
from tests.support.waiting import PATIENCE


@pytest.fixture
def server(settings, monkeypatch) -> Iterator[Server]:
    """A server whose addresses are all allowed, with a time limit for busy machines."""
    monkeypatch.setattr(images, "TIME_LIMIT", PATIENCE)
    started = Server()
    settings.PDF_ASSET_PATTERNS = [rf"http://[a-z.]+:{started.port}/.*"]
    yield started
    started.door.close()


@pytest.fixture
def names(monkeypatch) -> list[str]:
    """Resolve every name to this machine and record the names."""
    asked: list[str] = []
    lookup = socket.getaddrinfo

    def look_up(host: str, port: int, *arguments: object, **options: object) -> list:
        if host != "127.0.0.1":
            asked.append(host)
        return lookup("127.0.0.1", port, type=socket.SOCK_STREAM)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


@pytest.fixture
def as_if_public(monkeypatch, names: list[str]) -> None:
    """Treat this machine as public, because tests do not use the internet."""
    monkeypatch.setattr(images, "is_public", lambda host: host == "127.0.0.1")
