"""Whatever answers in Kilit's place, or in its name: a sentence and an exit code, never a traceback or a command."""

import json
import re
import socket
from contextlib import ExitStack

import pytest

from kilit_cli import api
from tests.support.command_line import http, strange_server

HTML = b"<!doctype html><title>Welcome to nginx!</title>"
ESCAPE = "\x1b[2J\x1b]0;owned\x07\x1b]52;c;cm0gLXJm\x1b\\\x9b31m\u202etxt.exe\x00\u2028\ud800"
JOB = {
    "id": "0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192",
    "queue": "conversion",
    "name": f"order-1{ESCAPE}[bold]x[/bold]",
    "belongs_to": "Shop",
    "state": "FAILED",
    "state_words": "Failed",
    "error_code": "X",
    "error_words": ESCAPE,
    "created_at": "2026-11-18T10:00:00Z",
    "link": "https://kilit.example/",
}


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (http(HTML, kind="text/html"), "answered with a web page"),
        (http(HTML, "502 Bad Gateway", "text/html"), "answered 502 Bad Gateway, but not as Kilit does"),
        (http(b"", "204 No Content"), "something else than JSON"),
        (http(b"[1, 2]"), "something else than JSON"),
        (http(b"\xff\xfe\x00"), "something else than JSON"),
        (http(b"[" * 200_000), "something else than JSON"),
        (http(b'{"problems": NaN}'), "something else than JSON"),
        (http(b'{"problems": [1e999]}'), "something else than JSON"),
        (http(b'{"problems": %s}' % (b"9" * 5_000)), "something else than JSON"),
        (http(b"{}"), "in a form that this version"),
        (http(b'{"problems": "many"}'), "in a form that this version"),
        (http(b'{"problems": [{"title": {}}]}'), "in a form that this version"),
        (http(b'{"error": "no"}', "400 Bad Request"), "answered 400 Bad Request, but not as Kilit does"),
        (http(b'{"error": {"message": []}}', "500 Oh\x1b[31m no"), "[]"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{", "something else than JSON"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n", "broke"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 70_000 + b"\r\n\r\n", "broke"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "broke"),
        (b"", "broke"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_program_answers(kilit, answer: bytes, sentence: str) -> None:
    with strange_server(answer) as server:
        kilit.use(server.address, "kilit_key")

        ended = kilit("problems")

    assert ended.code == 5, ended
    assert sentence in ended.err
    assert ended.out == ""
    assert "\x1b" not in ended.err


def test_a_redirect_gets_no_key(kilit) -> None:
    with ExitStack() as stack:
        target = stack.enter_context(strange_server(http(b"{}")))
        moved = http(b"", "302 Found", "text/plain", f"Location: {target.address}/x")
        kilit.use(stack.enter_context(strange_server(moved)).address, "kilit_key")
        ended = kilit("problems")

    assert (ended.code, target.requests) == (5, [])
    assert f"a redirect to {target.address}/x" in ended.err


def test_an_answer_without_an_end_is_not_read_to_it(kilit, monkeypatch) -> None:
    monkeypatch.setattr(api, "LARGEST_JSON", 100_000)
    with strange_server(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b" " * 1_000_000) as server:
        kilit.use(server.address, "kilit_key")
        ended = kilit("problems")

    assert ended.code == 5
    assert "without an end" in ended.err


def test_a_server_that_says_nothing_is_not_waited_for_long(kilit, monkeypatch) -> None:
    monkeypatch.setattr(api, "SILENCE", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        kilit.use(f"http://127.0.0.1:{silent.getsockname()[1]}", "kilit_key")
        ended = kilit("problems")

    assert ended.code == 5
    assert "did not answer in time" in ended.err


def test_nothing_answers(kilit) -> None:
    with strange_server(b"") as server:
        pass
    kilit.use(server.address, "kilit_key")

    ended = kilit("problems", "--json")

    assert (ended.code, ended.json["error"]["code"]) == (5, "UNREACHABLE")
    assert "Nothing answers at" in ended.err


def test_texts_of_strangers_command_no_terminal(kilit) -> None:
    with strange_server(http(json.dumps({"jobs": [JOB], "more": False}).encode())) as server:
        kilit.use(server.address, "kilit_key")
        shown, printed = kilit("find", "order-1"), kilit("find", "order-1", "--json")

    assert "order-1" in shown.out
    assert "[bold]x[/bold]" in shown.out, "text is no markup"
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028\ud800]", shown.out)
    assert "owned" not in shown.out
    assert printed.out.isascii()
    assert printed.json["jobs"][0]["name"] == JOB["name"], "a machine gets it as it is"


@pytest.mark.parametrize("status", [401, 403, 404, 409, 429, 500, 503])
def test_the_servers_sentence_is_shown_with_what_to_do(kilit, status: int) -> None:
    error = {"code": "SOME_CODE", "message": f"No\x1b[31m {status}.", "fields": [{"field": "a", "message": "Bad."}]}
    with strange_server(http(json.dumps({"error": error}).encode(), f"{status} Whatever")) as server:
        kilit.use(server.address, "kilit_key")
        ended = kilit("problems", "--json")

    assert ended.code == {401: 3, 403: 3, 404: 4, 409: 1}.get(status, 5)
    assert ended.err.startswith(f"No {status}.\n  a: Bad.\n")
    assert ended.json == {"error": error}


def test_a_file_of_another_kind_is_not_stored(kilit, tmp_path) -> None:
    job = {"job_id": "1", "status": "succeeded"}
    (tmp_path / "request.json").write_text("{}")
    target = tmp_path / "out.pdf"
    target.write_bytes(b"%PDF-before")
    with strange_server(http(json.dumps(job).encode())) as server:
        kilit.use(server.address, "kilit_key")
        ended = kilit("pdf", tmp_path / "request.json", "-o", target)

    assert ended.code == 5
    assert "another file than was asked for" in ended.err
    assert target.read_bytes() == b"%PDF-before"
