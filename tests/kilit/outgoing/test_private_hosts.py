"""No URL, name or redirect leads to a private address: a listener there counts every connection."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_network

import pytest

from kilit.outgoing.post import Poster
from kilit.outgoing.results import PostError
from simulators.webhooks.receiver import WebhookReceiver
from tests.support.waiting import PATIENCE, wait_until
from tests.support.webhooks import BODY, signed

REFUSED = {PostError.ADDRESS_NOT_ALLOWED, PostError.INVALID_URL, PostError.NAME_NOT_RESOLVED}


class Listener:
    """Listens on the loopback addresses under one port, and counts connections."""

    def __init__(self) -> None:
        self.count = 0
        self.doors = [socket.create_server(("127.0.0.1", 0))]
        self.port = self.doors[0].getsockname()[1]
        for address, family in (("127.0.0.2", socket.AF_INET), ("::1", socket.AF_INET6)):
            with suppress(OSError):  # this machine has no such address
                self.doors.append(socket.create_server((address, self.port), family=family))
        for door in self.doors:
            threading.Thread(target=self._count, args=[door], daemon=True).start()

    def _count(self, door: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connected, _ = door.accept()
                self.count += 1
                connected.close()

    def hits(self) -> int:
        """Return the connections so far: one more is made here, and all before it have been counted when it is."""
        before = self.count
        for door in self.doors:
            socket.create_connection(door.getsockname()[:2], timeout=PATIENCE).close()
        wait_until(lambda: self.count >= before + len(self.doors), every=0.01)
        return self.count - len(self.doors)


@pytest.fixture
def listener() -> Iterator[Listener]:
    started = Listener()
    yield started
    for door in started.doors:
        with suppress(OSError):
            door.shutdown(socket.SHUT_RDWR)
        door.close()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.2",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "0",
        "0.0.0.0",  # noqa: S104 - an address to refuse
        "localhost",
        "LOCALHOST",
        "localhost.",
        "127.0.0.1.",
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "[::1%25lo]",
        "[::1%lo]",
        "[fe80::1%25lo]",
        "user@127.0.0.1",
        "user:password@127.0.0.1",
        "8.8.8.8@127.0.0.1",
        "127.0.0.1\\@8.8.8.8",
        "127.0.0.1\t",
        " 127.0.0.1",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "169.254.169.254",
        "inside.example",
        "both.example",
        "mapped.example",
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_url_leads_inside(listener: Listener, names, scheme: str, host: str) -> None:
    names["inside.example"] = [["127.0.0.1"]]
    names["both.example"] = [["8.8.8.8", "127.0.0.1"]]
    names["mapped.example"] = [["::ffff:127.0.0.1"]]

    with Poster() as poster:
        result = poster.post(f"{scheme}://{host}:{listener.port}/", BODY, signed())

    assert result.error in REFUSED, result
    assert listener.hits() == 0


def test_a_name_that_changes_its_answer_is_connected_to_as_checked(listener: Listener, names, monkeypatch) -> None:
    """The second answer comes after the check of the first, where a client that looks up again would go inside."""
    names["rebinding.example"] = [["8.8.8.8"], ["127.0.0.1"]]
    connected: list[str] = []

    def connect(address: tuple[str, int], **_: object) -> socket.socket:
        connected.append(address[0])
        raise ConnectionRefusedError  # tests do not use the internet

    monkeypatch.setattr(socket, "create_connection", connect)
    with Poster() as poster:
        results = [poster.post(f"http://rebinding.example:{listener.port}/", BODY, signed()) for _ in range(2)]
    monkeypatch.undo()

    assert connected == ["8.8.8.8"]
    assert [result.error for result in results] == [PostError.CONNECTION_FAILED, PostError.ADDRESS_NOT_ALLOWED]
    assert listener.hits() == 0


@pytest.mark.parametrize("closes", [True, False])
def test_a_kept_connection_that_was_closed_is_opened_again_only_to_a_checked_address(
    receiver: WebhookReceiver, names, *, closes: bool
) -> None:
    names["rebinding.example"] = [["127.0.0.1"], ["127.0.0.2"]]
    inner = socket.create_server(("127.0.0.2", receiver.port))
    inner.settimeout(0)
    url = f"http://rebinding.example:{receiver.port}/"

    with Poster([ip_network("127.0.0.1")]) as poster:
        first = poster.post(url, BODY, signed())
        if closes:
            receiver.behave(closes=True)
        second = poster.post(url, BODY, signed())

    assert first.status == 200
    assert second.error == (PostError.ADDRESS_NOT_ALLOWED if closes else "")
    with inner, pytest.raises(BlockingIOError):  # no connection waits there
        inner.accept()


def test_a_webhook_follows_no_redirect(listener: Listener, receiver: WebhookReceiver, poster: Poster) -> None:
    for status in (301, 302, 303, 307, 308):
        receiver.behave(status=status, location=f"http://127.0.0.1:{listener.port}/")

        result = poster.post(receiver.url, BODY, signed())

        assert (result.status, result.error) == (status, PostError.REDIRECTED)
    assert listener.hits() == 0


def test_a_proxy_of_the_environment_is_not_used(listener: Listener, receiver, poster: Poster, monkeypatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{listener.port}")

    assert poster.post(receiver.url, BODY, signed()).is_delivered
    assert listener.hits() == 0
