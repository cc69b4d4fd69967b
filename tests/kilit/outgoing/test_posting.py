"""POSTs: what a receiver gets, and how each answer or failure is reported."""

import socket
import ssl
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from kilit.outgoing import post, sockets
from kilit.outgoing.post import Poster
from kilit.outgoing.results import PostError, parse_retry_after
from simulators.googleads.server import make_certificate
from simulators.webhooks.receiver import WebhookReceiver
from tests.support.image_server import Server, answer
from tests.support.waiting import PATIENCE
from tests.support.webhooks import BODY, signed


@pytest.fixture(autouse=True)
def _time_for_busy_machines(monkeypatch) -> None:
    monkeypatch.setattr(post, "TIME_LIMIT", PATIENCE)


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.door.close()


def url_of(server: Server, path: str = "/hook") -> str:
    return server.address(path, host="127.0.0.1")


def test_many_messages_use_one_connection(receiver: WebhookReceiver, poster: Poster) -> None:
    results = [poster.post(f"{receiver.url}/path?{number}", BODY, signed(f"msg_{number}")) for number in range(20)]

    assert {result.status for result in results} == {200}
    assert receiver.connections == 1
    assert receiver.accepted == {f"msg_{number}": 1 for number in range(20)}


def test_a_connection_is_opened_again_after_a_while(receiver: WebhookReceiver, poster: Poster, monkeypatch) -> None:
    """So that a changed name takes effect."""
    monkeypatch.setattr(post, "KEPT_FOR", 0.0)

    for _ in range(3):
        assert poster.post(receiver.url, BODY, signed()).is_delivered

    assert receiver.connections == 3


def test_a_connection_that_the_receiver_closed_costs_no_message(receiver: WebhookReceiver, poster: Poster) -> None:
    poster.post(receiver.url, BODY, signed())
    port = receiver.port
    receiver.stop()
    again = WebhookReceiver(["whsec_" + "a" * 32], port=port).start()

    result = poster.post(receiver.url, BODY, signed())

    again.stop()
    receiver.start()
    assert result.status == 401  # the new receiver answered
    assert again.connections == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (200, ""),
        (201, ""),
        (204, ""),
        (301, PostError.REDIRECTED),
        (304, PostError.REDIRECTED),
        (307, PostError.REDIRECTED),
        (400, PostError.HTTP_4XX),
        (401, PostError.HTTP_4XX),
        (404, PostError.HTTP_4XX),
        (410, PostError.GONE),
        (429, PostError.RATE_LIMITED),
        (500, PostError.HTTP_5XX),
        (503, PostError.HTTP_5XX),
    ],
)
def test_the_status_decides(receiver: WebhookReceiver, poster: Poster, status: int, error: str) -> None:
    receiver.behave(status=status, retry_after="7", body="" if status in (204, 304) else "why")

    result = poster.post(receiver.url, BODY, signed())

    assert (result.status, result.error, result.retry_after) == (status, error, 7.0)
    assert result.is_delivered == (status < 300)
    assert result.answer in ("why", "")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(None, None), ("", None), ("soon", None), ("-3", None), ("120", 120), ("0", 0), ("١", None)],
)
def test_retry_after_in_seconds(value, seconds) -> None:
    assert parse_retry_after(value) == seconds


def test_retry_after_as_a_date() -> None:
    now = datetime.now(UTC)

    assert parse_retry_after(format_datetime(now + timedelta(hours=1))) == pytest.approx(3600, abs=30)
    assert parse_retry_after(format_datetime(now - timedelta(hours=1))) == 0
    assert parse_retry_after("Mon, 99 Nov 2026 99:00:00 GMT") is None
    assert parse_retry_after("Fri, 31 Dec 9999 23:59:59 -2359") > 1e9


def test_an_ipv6_address_is_no_name_with_a_port() -> None:
    assert sockets.http_connection("2001:db8::abcd", None).host == "2001:db8::abcd"


def trickle(channel: socket.socket) -> None:
    """Send a byte now and then: a socket's own timeout never fires."""
    channel.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(1000):
        channel.sendall(b"x")
        time.sleep(0.02)


def pour(channel: socket.socket) -> None:
    channel.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(200):
        channel.sendall(b"x" * 65536)


def test_an_answer_that_trickles_ends_at_the_limit(server: Server, poster: Poster, monkeypatch) -> None:
    monkeypatch.setattr(post, "TIME_LIMIT", 0.3)
    server.answers["/hook"] = trickle

    result = poster.post(url_of(server), BODY, signed())

    assert result.error == PostError.TIMED_OUT
    assert result.seconds >= 0.3


def test_a_receiver_that_never_answers_ends_at_the_limit(
    receiver: WebhookReceiver, poster: Poster, monkeypatch
) -> None:
    monkeypatch.setattr(post, "TIME_LIMIT", 0.3)
    receiver.behave(delay=20)

    assert poster.post(receiver.url, BODY, signed()).error == PostError.TIMED_OUT


def test_a_long_answer_is_cut(server: Server, poster: Poster) -> None:
    server.answers["/hook"] = pour

    results = [poster.post(url_of(server), BODY, signed()) for _ in range(2)]

    assert [result.answer for result in results] == ["x" * 65536] * 2  # the second is not the rest of the first
    assert all(result.is_delivered for result in results)


def test_compression_is_neither_asked_for_nor_expanded(server: Server, poster: Poster, monkeypatch) -> None:
    server.answers["/hook"] = answer(b"\x1f\x8b\x08small", **{"Content-Encoding": "gzip"})
    sent: list[bytes] = []
    send = sockets.PinnedSocket.sendall
    monkeypatch.setattr(sockets.PinnedSocket, "sendall", lambda self, data: sent.append(data) or send(self, data))

    assert poster.post(url_of(server), BODY, signed()).answer == "\x1f\ufffd\x08small"
    assert b"Accept-Encoding: identity\r\n" in b"".join(sent)


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"nonsense\r\n\r\n", PostError.INVALID_RESPONSE),
        (b"HTTP/1.1 99999 Odd\r\n\r\n", PostError.INVALID_RESPONSE),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", PostError.INVALID_RESPONSE),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", PostError.INVALID_RESPONSE),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", PostError.INVALID_RESPONSE),
        (b"", PostError.CONNECTION_FAILED),
    ],
)
def test_what_is_not_http_is_a_failure(server: Server, poster: Poster, sent: bytes, error: str) -> None:
    server.answers["/hook"] = sent

    assert poster.post(url_of(server), BODY, signed()).error == error


def test_a_closed_port_and_an_unknown_name(poster: Poster, monkeypatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.1", 0))
        refused = poster.post(f"http://127.0.0.1:{bound.getsockname()[1]}/", BODY, signed())
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    not_found = poster.post("https://nowhere.example/", BODY, signed())

    assert (refused.error, refused.status) == (PostError.CONNECTION_FAILED, None)
    assert not_found.error == PostError.NAME_NOT_RESOLVED
    assert "not known" in not_found.detail


class TlsServer(Server):
    """Answers 200 over TLS, with a certificate for localhost, and notes the names that clients ask for."""

    def __init__(self, folder: Path) -> None:
        key, self.certificate = make_certificate(folder)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.context.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self.names: list[str] = []
        super().__init__()
        self.answers["/hook"] = answer(b"")

    def _answer(self, channel: socket.socket) -> None:
        try:
            super()._answer(self.context.wrap_socket(channel, server_side=True))
        except OSError:  # the client does not trust the certificate
            channel.close()


def test_the_certificate_must_be_for_the_host_name(tmp_path: Path, poster: Poster, names, monkeypatch) -> None:
    server = TlsServer(tmp_path)
    for name in ("localhost", "other.example"):
        names[name] = [["127.0.0.1"]]
    trusting = ssl.create_default_context(cafile=server.certificate)

    untrusted = poster.post(f"https://localhost:{server.port}/hook", BODY, signed())
    monkeypatch.setattr(sockets, "tls_context", lambda: trusting)
    trusted = poster.post(f"https://localhost:{server.port}/hook", BODY, signed())
    for_another = poster.post(f"https://other.example:{server.port}/hook", BODY, signed())
    server.door.close()

    assert [result.error for result in (untrusted, trusted, for_another)] == [
        PostError.TLS_FAILED,
        "",
        PostError.TLS_FAILED,
    ]
    assert server.names == ["localhost", "localhost", "other.example"]
    assert server.asked == ["/hook"]


def test_a_server_without_tls_fails(server: Server, poster: Poster) -> None:
    server.answers = defaultdict(lambda: answer(b""))

    result = poster.post(url_of(server).replace("http:", "https:"), BODY, signed())

    assert result.error in (PostError.TLS_FAILED, PostError.CONNECTION_FAILED)
