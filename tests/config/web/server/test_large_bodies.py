"""A large body is received only for a key or a session that the database knows; others get 401 after the header."""

from collections.abc import Iterator

import pytest
from django.db import OperationalError

from config.web.server.admission import Caller
from tests.support.waiting import wait_until
from tests.support.web_server import RunningServer, WebAnswer, web_server

KNOWN = {"a-key": Caller.KEY, "a-session": Caller.SESSION}
KEY, SESSION = "X-API-Key: a-key\r\n", "Cookie: csrftoken=x; sessionid=a-session; theme=dark\r\n"
LIMITS = {"unknown_bytes": 1000, "unchecked_bytes": 5000, "key_bytes": 20_000, "body_bytes": 100_000}


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with web_server(known=KNOWN, **LIMITS) as server:
        yield server


def header(size: int | None, credentials: str) -> str:
    length = "Transfer-Encoding: chunked" if size is None else f"Content-Length: {size}"
    return f"POST /echo HTTP/1.1\r\nHost: localhost\r\n{credentials}{length}\r\n\r\n"


def send(server: RunningServer, size: int, credentials: str, *, chunked: bool) -> WebAnswer:
    """Send a body piece by piece, until the server answers: two seconds after a refusal it reads no more."""
    body = "a" * size
    with server.connect() as client:
        client.send(header(None if chunked else size, credentials))
        for start in range(0, size, 1000):
            if client.has_answer():
                return client.answer()
            piece = body[start : start + 1000]
            client.send(f"{len(piece):x}\r\n{piece}\r\n" if chunked else piece)
        client.send("0\r\n\r\n" if chunked else "")
        return client.answer()


@pytest.mark.parametrize("chunked", [False, True], ids=["a length", "chunks"])
@pytest.mark.parametrize(
    ("credentials", "size", "expected"),
    [
        ("", 1000, (200, None)),
        ("", 3000, (401, "UNAUTHENTICATED")),
        ("Cookie: csrftoken=x; notsessionid=a-session\r\n", 3000, (401, "UNAUTHENTICATED")),
        ("X-API-Key: forged\r\n", 5000, (200, None)),  # Django answers it
        ("X-API-Key: forged\r\n", 9000, (401, "UNAUTHENTICATED")),
        ("Authorization: Bearer forged\r\n", 9000, (401, "UNAUTHENTICATED")),
        ("Cookie: sessionid=forged\r\n", 9000, (401, "UNAUTHENTICATED")),
        (KEY, 20_000, (200, None)),
        (KEY, 30_000, (413, "TOO_LARGE")),
        (SESSION, 100_000, (200, None)),
        (SESSION, 110_000, (413, "TOO_LARGE")),
    ],
)
def test_how_much_a_request_may_send(
    server: RunningServer, credentials: str, size: int, expected: tuple[int, str | None], *, chunked: bool
) -> None:
    answer = send(server, size, credentials, chunked=chunked)

    status, code = expected
    assert (answer.status_code, answer.code if code else None) == (status, code)
    if status == 200:
        assert len(answer.json()["body"]) == size
    if status == 401:
        assert (answer.headers["www-authenticate"], answer.headers["connection"]) == ("Bearer", "close")
    wait_until(lambda: (server.worker.budget.total, server.worker.budget.of_address) == (0, {}))


def test_a_stranger_is_refused_right_after_the_header(server: RunningServer) -> None:
    for credentials in ("", "X-API-Key: forged\r\n"):
        with server.connect() as client:
            client.send(header(90_000, credentials + "Expect: 100-continue\r\n"))
            answer = client.answer()

            assert (answer.status_code, answer.code) == (401, "UNAUTHENTICATED")
            assert client.is_closed()
    assert "/echo" not in server.application.called


def test_the_database_is_asked_once_and_only_for_large_bodies(server: RunningServer) -> None:
    send(server, 5000, KEY, chunked=True)
    assert server.identified == []

    send(server, 20_000, KEY, chunked=True)

    assert [given.key for given in server.identified] == ["a-key"]


def test_without_the_database_a_large_body_gets_503() -> None:
    def fail(_: object) -> Caller:
        raise OperationalError

    with web_server(**LIMITS) as server:
        server.worker.identify = fail
        answer = send(server, 9000, KEY, chunked=False)
        small = send(server, 500, KEY, chunked=False)

    assert (answer.status_code, answer.code, small.status_code) == (503, "UNAVAILABLE", 200)


def test_one_address_does_not_take_all_the_room_for_bodies() -> None:
    half = header(70_000, SESSION) + "a" * 69_999
    with web_server(known=KNOWN, **LIMITS, address_bodies_bytes=100_000) as server:
        with server.connect() as first:
            first.send(half)
            wait_until(lambda: server.worker.budget.total == 69_999)
            refused = server.ask(half)
            first.send("a")
            answer = first.answer()

        assert (refused.status_code, refused.code, answer.status_code) == (429, "TOO_LARGE", 200)
        wait_until(lambda: not server.worker.budget.of_address)
        assert server.ask(half + "a").status_code == 200
