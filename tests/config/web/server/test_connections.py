"""There is always room for a new connection, except when threads work for all the others."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from tests.support.web_server import RunningServer, web_server

HALF_A_HEADER = "GET /slow HTTP/1.1\r\nHost: local"
WAIT = "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n"


def connected(server: RunningServer, number: int) -> None:
    wait_until(lambda: len(server.worker.connections) == number, every=0.01)


@pytest.mark.parametrize(
    ("limits", "status", "code"),
    [
        ({"connections_per_address": 5}, 429, "TOO_MANY_CONNECTIONS"),
        ({"connections": 5}, 503, "UNAVAILABLE"),
    ],
    ids=["of its address", "of all"],
)
def test_the_oldest_connection_that_waits_makes_room_for_a_new_one(limits: dict, status: int, code: str) -> None:
    with web_server(**limits) as server, ExitStack() as stack:
        connected(server, 0)
        clients = []
        for number in range(5):
            clients.append(stack.enter_context(server.connect()))
            clients[-1].send(HALF_A_HEADER)
            connected(server, number + 1)

        honest = server.get("/honest")
        answer = clients[0].answer()
        clients[1].send("host\r\n\r\n")

        assert honest.status_code == 200
        assert (answer.status_code, answer.code) == (status, code)
        assert clients[1].answer().status_code == 200


def test_an_address_whose_requests_are_all_being_answered_gets_no_more_connections() -> None:
    with web_server(connections_per_address=2) as server, server.connect() as first, server.connect() as second:
        first.send(WAIT)
        second.send(WAIT)
        wait_until(lambda: server.application.called.count("/wait") == 2)

        with server.connect() as third:
            refused = third.answer()
        server.application.go_on.set()

        assert (refused.status_code, refused.code) == (429, "TOO_MANY_CONNECTIONS")
        assert (first.answer().status_code, second.answer().status_code) == (200, 200)


def test_new_connections_wait_while_threads_work_for_all_others() -> None:
    with web_server(connections=2) as server, server.connect() as first, server.connect() as second:
        first.send(WAIT)
        second.send(WAIT)
        wait_until(lambda: server.application.called.count("/wait") == 2)

        with server.connect() as third:
            third.send("GET /third HTTP/1.1\r\nHost: localhost\r\n\r\n")
            server.application.go_on.set()

            assert third.answer().status_code == 200


def test_a_socket_of_the_file_system_has_no_limit_of_connections_per_address(tmp_path: Path) -> None:
    place = os.path.relpath(tmp_path / "web.sock")
    with web_server(path=place, connections_per_address=1) as server, server.connect() as first:
        first.send(WAIT)
        wait_until(lambda: "/wait" in server.application.called)

        assert server.get("/honest").status_code == 200


def test_large_bodies_share_a_limit_and_give_it_back() -> None:
    half = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 70000\r\n\r\n" + "a" * 69_999
    limits = {"all_bodies_bytes": 100_000, "all_bodies_memory_bytes": 10_000, "unknown_bytes": 100_000}
    with web_server(**limits) as server:
        with server.connect() as first:
            first.send(half)
            wait_until(lambda: server.worker.budget.total)
            refused = server.ask(half)
            first.send("a")
            answer = first.answer()

        assert (refused.status_code, refused.code) == (503, "UNAVAILABLE")
        assert answer.status_code == 200
        wait_until(lambda: (server.worker.budget.total, server.worker.budget.in_memory) == (0, 0))


def test_stopping_answers_what_has_begun_and_closes_what_is_idle() -> None:
    with web_server() as server, ExitStack() as stack:
        working, sending, idle = (stack.enter_context(server.connect()) for _ in range(3))
        idle.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        idle.answer()
        working.send(WAIT)
        sending.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhel")
        wait_until(lambda: "/wait" in server.application.called and server.worker.budget.total)

        server.stop()
        assert idle.is_closed()
        sending.send("lo")
        server.application.go_on.set()
        answers = [working.answer(), sending.answer()]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[1].headers["connection"] == "close"


def test_a_server_that_stops_does_not_wait_for_slow_headers() -> None:
    with web_server(header_seconds=1000) as server, server.connect() as slow:
        slow.send(HALF_A_HEADER)
        connected(server, 1)

        server.stop()

        assert slow.answer().status_code == 503
