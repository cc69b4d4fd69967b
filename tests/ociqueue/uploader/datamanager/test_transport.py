"""One call over HTTP: whatever comes back, or does not, becomes a result for each row."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kilit.sentences import english
from ociqueue.models import Conversion, Receipt
from ociqueue.uploader.datamanager import replies as transport
from ociqueue.uploader.datamanager.provider import DataManager
from ociqueue.uploader.results import VerdictStatus
from ociqueue.uploader.upload_run import upload_due
from simulators.datamanager import refusals
from simulators.datamanager.server import cut_before, refuse
from tests.support.commands import free_port
from tests.support.uploads import account

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def raw_server(data_manager, settings) -> Iterator[Callable[[bytes], list[str]]]:
    """A server that answers each request with these bytes; the login stays at the simulator."""
    paths: list[str] = []
    answer: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            paths.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.wfile.write(answer[0])
            self.close_connection = True

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    settings.DATA_MANAGER_ENDPOINT = f"http://127.0.0.1:{server.server_port}/"

    def answer_with(head: str, body: bytes = b"", *, length: int | None = None) -> list[str]:
        size = len(body) if length is None else length
        answer[:] = [f"HTTP/1.1 {head}\r\nContent-Length: {size}\r\n\r\n".encode() + body]
        return paths

    yield answer_with
    server.shutdown()
    server.server_close()
    thread.join()


def results() -> set[tuple[object, ...]]:
    return set(Conversion.objects.values_list("status", "outcome_unknown", "provider_error_code", "attempts_forgiven"))


@pytest.mark.parametrize(
    ("answer", "ends"),
    [
        (("200 OK", b"<html>"), ("RETRY", True, "UNPROVEN_ANSWER", 0)),
        (("200 OK", b"[1]"), ("RETRY", True, "UNPROVEN_ANSWER", 0)),
        (("200 OK", b"[" * 100_000), ("RETRY", True, "UNPROVEN_ANSWER", 0)),
        (("502 Bad Gateway", b"<html>"), ("RETRY", True, "UNAVAILABLE", 0)),
        (("500 Oops", b'{"error": {"status": "INVALID_ARGUMENT"}}'), ("RETRY", True, "UNAVAILABLE", 0)),
        (("429 Slow down", b""), ("RETRY", False, "RESOURCE_EXHAUSTED", 0)),
        (("401 No", b""), ("RETRY", False, "UNAUTHENTICATED", 1)),
        (("403 No", b"<html>"), ("RETRY", False, "PERMISSION_DENIED", 1)),
        (("404 Not Found", b"<html>"), ("RETRY", False, "UNREADABLE_ANSWER", 1)),
        (("400 Bad Request", b"<html>"), ("RETRY", False, "UNREADABLE_ANSWER", 1)),
        (("413 Too Large", b""), ("FAILED", False, "TOO_MANY_EVENTS", 0)),
        (
            ("400 Bad Request", b'{"error": {"details": [{"fieldViolations": [7, {}]}, 7]}}'),
            ("RETRY", False, "INVALID_ARGUMENT", 1),
        ),
        (("302 Found\r\nLocation: /elsewhere", b""), ("RETRY", False, "UNREADABLE_ANSWER", 1)),
    ],
)
def test_each_answer_ends_in_its_result(raw_server, dm_site, make_rows, answer, ends) -> None:
    paths = raw_server(*answer)
    make_rows(dm_site, "one")

    upload_due()

    assert results() == {ends}
    assert paths == ["/v1/events:ingest"], "once, and no redirect is followed"


def test_an_answer_that_breaks_off_proves_nothing(raw_server, dm_site, make_rows) -> None:
    raw_server("200 OK", b'{"requestId": "abc"}', length=10_000)
    make_rows(dm_site, count=2)

    upload_due()

    assert results() == {("RETRY", True, "NO_ANSWER", 0)}
    assert not Receipt.objects.exists()


def test_an_answer_without_end_is_not_read_to_its_end(raw_server, dm_site, make_rows, monkeypatch) -> None:
    monkeypatch.setattr(transport, "LONGEST_REPLY", 1000)
    raw_server("200 OK", b'{"requestId": "abc", "x": "' + b"x" * 200_000 + b'"}')
    make_rows(dm_site, "one")

    upload_due()

    assert results() == {("RETRY", True, "NO_ANSWER", 0)}


def test_nothing_listens(data_manager, dm_site, make_rows, settings) -> None:
    settings.DATA_MANAGER_ENDPOINT = f"http://127.0.0.1:{free_port()}"
    make_rows(dm_site, "one")

    upload_due()

    row = Conversion.objects.get()
    assert (row.status, row.provider_error_code) == ("RETRY", "NO_ANSWER")
    assert english(row.last_error) == "Google's Data Manager API did not answer (ConnectionError)."


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (refuse(refusals.invalid(refusals.Violation("request_id", "INVALID_REQUEST_ID"))), VerdictStatus.LOST),
        (refuse(refusals.GoogleRefusal(reason="REQUEST_TOO_OLD")), VerdictStatus.LOST),
        (refuse(refusals.GoogleRefusal(reason="A_NEW_NAME")), VerdictStatus.UNKNOWN),
        (refuse(refusals.permission_denied()), VerdictStatus.UNKNOWN),
        (refuse(refusals.exhausted()), VerdictStatus.UNKNOWN),
        (refuse(refusals.GoogleRefusal("UNAVAILABLE", "REQUEST_TOO_OLD")), VerdictStatus.UNKNOWN),
        (refuse(refusals.unauthenticated()), VerdictStatus.UNKNOWN),
        (cut_before, VerdictStatus.UNKNOWN),
    ],
)
def test_a_question_that_is_refused(data_manager, reply, status) -> None:
    """Only Google's own word that it does not know the request makes a receipt worthless."""
    provider = DataManager(account())
    data_manager.question_replies.append(reply)

    verdict = provider.verdict("a request/id&x=1", [])

    assert verdict.status == status
    assert verdict.note
    assert data_manager.questions[0].query["requestId"] == "a request/id&x=1"


def test_a_question_with_a_revoked_login(data_manager) -> None:
    data_manager.login = "invalid_grant"

    verdict = DataManager(account()).verdict("request", [])

    assert verdict.status == VerdictStatus.UNKNOWN
    assert "Google rejects the credentials" in verdict.note


def test_an_unreadable_status_is_unknown(raw_server) -> None:
    raw_server("200 OK", b"<html>")

    assert DataManager(account()).verdict("request", []).status == VerdictStatus.UNKNOWN
