"""Requests are read as HTTP defines them; what two servers could read in two ways is refused."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.web_server import RunningServer, web_server

HEADER = "POST /echo HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEADER + "Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with web_server(body_bytes=1024**2, body_memory_bytes=1024, unknown_bytes=1024**2) as server:
        yield server


@pytest.mark.parametrize("size", [0, 1, 1024, 1025, 300_000])
def test_a_body_arrives_whole(server: RunningServer, size: int) -> None:
    answer = server.ask(HEADER + f"Content-Length: {size}\r\n\r\n" + "ab"[size % 2] * size)

    assert (answer.status_code, answer.json()["CONTENT_LENGTH"]) == (200, str(size))
    assert answer.json()["body"] == "ab"[size % 2] * size


@pytest.mark.parametrize(
    ("chunks", "body"),
    [
        ("0\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5;name=value\r\nhello\r\nA\r\n, in parts\r\n00\r\n\r\n", "hello, in parts"),
        ("5\r\nhello\r\n0\r\nX-Checksum: 1\r\n\r\n", "hello"),
    ],
)
@pytest.mark.parametrize("split", [lambda text: [text], list], ids=["at once", "byte by byte"])
def test_a_chunked_body_is_decoded(server: RunningServer, chunks: str, body: str, split: Callable) -> None:
    with server.connect() as client:
        client.send(CHUNKED)
        for piece in split(chunks):
            client.send(piece)
        answer = client.answer().json()
        client.send("GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n")
        following = client.answer().json()

    assert (answer["body"], answer["CONTENT_LENGTH"], answer["HTTP_TRANSFER_ENCODING"]) == (body, str(len(body)), None)
    assert following["path"] == "/next"


def test_pipelined_requests_are_answered_in_order(server: RunningServer) -> None:
    with server.connect() as client:
        client.send(HEADER + "Content-Length: 3\r\n\r\none" + CHUNKED + "3\r\ntwo\r\n0\r\n\r\n" + HEADER + "\r\n")
        bodies = [client.answer().json()["body"] for _ in range(3)]

    assert bodies == ["one", "two", ""]


AMBIGUOUS = {
    "a length and chunks": HEADER + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": HEADER + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "the same length twice": HEADER + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "a list of lengths": HEADER + "Content-Length: 5, 5\r\n\r\nhello",
    "a length with a sign": HEADER + "Content-Length: +5\r\n\r\nhello",
    "a length with letters": HEADER + "Content-Length: 0x5\r\n\r\nhello",
    "chunked twice": HEADER + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "not chunked at last": HEADER + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bare line feeds": "GET / HTTP/1.1\nHost: localhost\n\n",
    "a bare line feed after the first line": "GET / HTTP/1.1\r\nHost: localhost\nX: 1\r\n\r\n",
    "a space before the colon": "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "a folded line": "GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n",
    "a NUL": "GET / HTTP/1.1\r\nHost: local\x00host\r\n\r\n",
    "two hosts": "GET / HTTP/1.1\r\nHost: one\r\nHost: two\r\n\r\n",
    "no version": "GET /\r\n\r\n",
    "empty lines first": "\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a chunk size with a sign": CHUNKED + "+5\r\nhello\r\n0\r\n\r\n",
    "a chunk size with a prefix": CHUNKED + "0x5\r\nhello\r\n0\r\n\r\n",
    "a chunk size with an underscore": CHUNKED + "1_0\r\nhello\r\n0\r\n\r\n",
    "no chunk size": CHUNKED + "\r\nhello\r\n0\r\n\r\n",
    "a chunk that is longer than its size": CHUNKED + "4\r\nhello\r\n0\r\n\r\n",
    "a chunk ended by a line feed": CHUNKED + "5\r\nhello\n0\r\n\r\n",
    "a chunk size ended by a line feed": CHUNKED + "5\nhello\r\n0\r\n\r\n",
    "a length in the trailer": CHUNKED + "0\r\nContent-Length: 5\r\n\r\n",
    "a bad chunk extension": CHUNKED + "5;\x01\r\nhello\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("request_", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_an_ambiguous_request_is_refused_with_all_that_follows_it(server: RunningServer, request_: str) -> None:
    before = len(server.application.called)
    with server.connect() as client:
        client.send(request_ + "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = client.answer()

        assert (answer.status_code, answer.code) == (400, "BAD_REQUEST")
        assert answer.headers["connection"] == "close"
        assert client.is_closed()
    assert server.application.called[before:] == []


REFUSED = {
    "bare line feeds, and no more": ("GET / HTTP/1.1\nHost: localhost\n\n", 400, "BAD_REQUEST"),
    "a long address": (f"GET /{'a' * 9000}", 414, "URI_TOO_LONG"),
    "a long address, complete": (f"GET /{'a' * 9000} HTTP/1.1\r\nHost: localhost\r\n\r\n", 414, "URI_TOO_LONG"),
    "a long field": (f"GET / HTTP/1.1\r\nX: {'a' * 9000}\r\n\r\n", 431, "HEADER_TOO_LARGE"),
    "many fields": ("GET / HTTP/1.1\r\n" + "X: 1\r\n" * 200 + "\r\n", 431, "HEADER_TOO_LARGE"),
    "a header without an end": ("GET / HTTP/1.1\r\n" + f"X: {'a' * 8000}\r\n" * 9, 431, "HEADER_TOO_LARGE"),
    "a long body": (HEADER + "Content-Length: 1048577\r\n\r\n", 413, "TOO_LARGE"),
    "a very long body": (HEADER + f"Content-Length: {10**30}\r\n\r\n", 413, "TOO_LARGE"),
    "a long body, announced": (HEADER + "Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n", 413, "TOO_LARGE"),
    "a long chunk": (CHUNKED + "100001\r\n" + "a" * 0x100001 + "\r\n", 413, "TOO_LARGE"),
    "an endless chunk size": (CHUNKED + "0" * 9000, 400, "BAD_REQUEST"),
    "an endless trailer": (CHUNKED + "0\r\n" + "X: 1\r\n" * 2000, 431, "HEADER_TOO_LARGE"),
    "many small chunks": (CHUNKED + "1\r\na\r\n" * 6000, 400, "BAD_REQUEST"),
    "another expectation": (HEADER + "Expect: a-miracle\r\n\r\n", 417, "EXPECTATION_FAILED"),
    "another encoding": (HEADER + "Transfer-Encoding: unknown\r\n\r\n", 501, "UNSUPPORTED_TRANSFER_ENCODING"),
    "a fault of the application": ("GET /fail HTTP/1.1\r\nHost: localhost\r\n\r\n", 500, "INTERNAL"),
}


@pytest.mark.parametrize(("request_", "status", "code"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_an_error_in_json(server: RunningServer, request_: str, status: int, code: str) -> None:
    answer = server.ask(request_)

    assert (answer.status_code, answer.code) == (status, code)
    assert answer.headers["content-type"] == "application/json"
    assert server.get("/").status_code == 200


def test_a_client_that_waits_for_100_continue_gets_it_before_its_body_is_read(server: RunningServer) -> None:
    with server.connect() as client:
        client.send(HEADER + "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        interim = client.answer()
        client.send("hello")
        answer = client.answer()

    assert (interim.status_code, answer.status_code, answer.json()["body"]) == (100, 200, "hello")


def test_a_client_that_does_not_wait_for_100_continue_gets_one_answer(server: RunningServer) -> None:
    answer = server.ask(HEADER + "Content-Length: 5\r\nExpect: 100-continue\r\n\r\nhello")

    assert (answer.status_code, answer.json()["body"]) == (200, "hello")


@pytest.mark.parametrize(("method", "path"), [("HEAD", "/echo"), ("GET", "/empty"), ("GET", "/unchanged")])
def test_an_answer_without_a_body_leaves_the_connection_usable(server: RunningServer, method: str, path: str) -> None:
    with server.connect() as client:
        client.send(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = client.answer(method=method)
        client.send("GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n")
        following = client.answer()

    assert answer.status_code in {200, 204, 304}
    assert following.json()["path"] == "/next"


def test_the_application_sees_the_address_of_the_client_and_the_scheme_of_the_proxy(server: RunningServer) -> None:
    seen = server.ask("GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Proto: https\r\n\r\n").json()

    assert (seen["REMOTE_ADDR"], seen["wsgi.url_scheme"]) == ("127.0.0.1", "https")


def test_an_answer_that_breaks_off_does_not_look_complete(server: RunningServer) -> None:
    with pytest.raises(EOFError):
        server.ask("GET /broken HTTP/1.1\r\nHost: localhost\r\n\r\n")

    assert server.get("/").status_code == 200


def test_a_request_whose_client_leaves_before_its_end_never_reaches_the_application(server: RunningServer) -> None:
    before = len(server.application.called)
    with server.connect() as client:
        client.send(HEADER + "Content-Length: 5\r\n\r\nhel")
    with server.connect() as client:
        client.send(HEADER)

    server.get("/last")

    assert server.application.called[before:] == ["/last"]
