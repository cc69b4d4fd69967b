"""Clients that send or read slowly keep nobody else from being served, and are disconnected."""

from contextlib import ExitStack

import pytest

from tests.support.waiting import wait_until
from tests.support.web_server import web_server

HALF_A_HEADER = "GET /slow HTTP/1.1\r\nHost: local"
HALF_A_BODY = "POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf"
HALF_A_CHUNK = "POST /slow HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha"


def test_hundreds_of_slow_headers_and_bodies_occupy_no_thread() -> None:
    with web_server(threads=1, connections_per_address=0) as server, ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(600)]
        for number, client in enumerate(clients):
            client.send(HALF_A_HEADER if number < 500 else HALF_A_BODY)
        for client in clients:
            client.send("x")

        answers = [server.get(f"/honest/{number}") for number in range(20)]

        assert len(server.worker.connections) >= 600
    assert {answer.status_code for answer in answers} == {200}
    assert "/slow" not in server.application.called


@pytest.mark.parametrize("beginning", ["", HALF_A_HEADER], ids=["nothing", "half a header"])
def test_a_header_that_does_not_arrive_in_time_gets_408(beginning: str) -> None:
    with web_server(header_seconds=0.2) as server, server.connect() as client:
        client.send(beginning)
        answer = client.answer()

        assert (answer.status_code, answer.code) == (408, "REQUEST_TIMEOUT")
        assert client.is_closed()
        wait_until(lambda: not len(server.worker.connections))


def test_the_deadline_of_a_header_is_not_extended_by_a_byte_now_and_then() -> None:
    with web_server(header_seconds=0.5) as server, server.connect() as client:
        client.send("GET / HTTP/1.1\r\nX: ")
        client.socket.settimeout(0.05)
        answer = b""
        while not answer:
            try:
                client.send("a")
                answer = client.socket.recv(1000)
            except TimeoutError:
                pass

    assert answer.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("beginning", [HALF_A_BODY, HALF_A_CHUNK], ids=["a length", "chunks"])
def test_a_body_that_does_not_arrive_in_time_gets_408(beginning: str) -> None:
    with web_server(body_seconds=0.2) as server, server.connect() as client:
        client.send(beginning)
        answer = client.answer()

        assert (answer.status_code, answer.code) == (408, "REQUEST_TIMEOUT")
        assert client.is_closed()
        wait_until(lambda: (server.worker.budget.total, server.worker.budget.in_memory) == (0, 0))
    assert "/slow" not in server.application.called


def test_a_long_body_may_take_longer_if_it_keeps_arriving() -> None:
    with web_server(body_seconds=0.2, least_rate=10) as server, server.connect() as client:
        client.send(
            "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n" + "a" * 100 + "\r\n"
        )
        wait_until(lambda: server.worker.budget.total == 100)
        client.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):  # refused without the bytes that arrived
            client.answer()
        client.socket.settimeout(None)
        client.send("0\r\n\r\n")

        assert client.answer().status_code == 200


def test_a_connection_is_closed_when_its_client_asks_for_nothing_more() -> None:
    with web_server() as server, server.connect() as client:
        object.__setattr__(server.worker.limits, "idle_seconds", 0.1)
        client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.answer()

        assert client.is_closed()


def test_health_is_answered_while_all_threads_are_busy() -> None:
    with web_server(threads=1) as server, server.connect() as first, server.connect() as second:
        first.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
        second.send("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: "/wait" in server.application.called)

        health = server.get("/healthz")
        server.application.go_on.set()

        assert health.status_code == 200
        assert (first.answer().status_code, second.answer().status_code) == (200, 200)


def large(size: int) -> str:
    return f"GET /large/{size} HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_clients_that_do_not_read_their_answers_occupy_no_thread() -> None:
    size = 20_000_000  # more than the kernel takes
    with web_server() as server, ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(4)]
        for client in clients:
            client.send(large(size))

        wait_until(lambda: server.application.called.count(f"/large/{size}") == 4)
        answer = server.get("/honest")
        contents = [len(client.answer().content) for client in clients]

    assert answer.status_code == 200
    assert contents == [size] * 4


def test_a_client_that_never_reads_its_answer_is_disconnected() -> None:
    with web_server(send_seconds=0.2, least_rate=10**12) as server, server.connect() as client:
        client.send(large(20_000_000))
        wait_until(lambda: "/large/20000000" in server.application.called)

        wait_until(lambda: not len(server.worker.connections))
        with pytest.raises((EOFError, ConnectionError)):
            client.answer()


def test_a_thread_does_not_wait_for_ever_for_a_client_that_does_not_read() -> None:
    limits = {"answer_bytes": 1_000_000, "send_seconds": 0.2, "least_rate": 1, "thread_rate": 10**12}
    with web_server(threads=1, **limits) as server, server.connect() as client:
        client.send(large(100_000_000))

        assert server.get("/honest").status_code == 200


def test_an_answer_larger_than_what_may_wait_reaches_a_client_that_reads() -> None:
    with web_server(answer_bytes=1_000_000, answer_memory_bytes=1000) as server, server.connect() as client:
        client.send(large(50_000_000))

        assert len(client.answer().content) == 50_000_000
