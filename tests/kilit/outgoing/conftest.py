"""Receivers on this machine, and names that resolve as a test says."""

import socket
from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from kilit.outgoing.post import Poster
from simulators.webhooks.receiver import WebhookReceiver
from tests.support.webhooks import SECRET

LOOPBACK = [ip_network("127.0.0.1")]


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    started = WebhookReceiver([SECRET]).start()
    yield started
    started.stop()


@pytest.fixture
def poster() -> Iterator[Poster]:
    """A poster that may also connect to 127.0.0.1, and to no other private address."""
    with Poster(LOOPBACK) as opened:
        yield opened


@pytest.fixture
def names(monkeypatch) -> dict[str, list[list[str]]]:
    """Names and their answers, one for each look-up; the last one is repeated."""
    answers: dict[str, list[list[str]]] = {}
    look_up = socket.getaddrinfo

    def answer(host: str, port: int, *arguments: object, **options: object) -> list:
        found = answers.get(host)
        if not found:
            return look_up(host, port, *arguments, **options)
        addresses = found.pop(0) if len(found) > 1 else found[0]
        return [entry for address in addresses for entry in look_up(address, port, type=socket.SOCK_STREAM)]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return answers
