"""nginx and Caddy in front of the web server, with the files of deploy/: slow clients, limits, uploads, downloads."""

import http.client
import json
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ociqueue.models import Site
from tests.support.commands import free_port
from tests.support.people import make_person
from tests.support.proxies import BOTH, ONLY_NGINX, Proxy
from tests.support.slow_clients import TRUSTING, SlowClients
from tests.support.waiting import PATIENCE, wait_until
from tests.support.web_process import web_process

pytestmark = pytest.mark.django_db(transaction=True)

MB = 1024**2
IMPORT = "/admin/ociqueue/conversion/import/"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Edge:
    """A proxy with Kilit behind it, and an honest client."""

    def __init__(self, port: int, web: int, folder: Path) -> None:
        self.port, self.web, self.folder = port, web, folder
        self.site = Site.objects.create(name="Honest", default_currency="TRY")
        self.key = self.site.issue_key(name="honest")

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE, context=TRUSTING)

    def ask(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(self.connect()) as connection:
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def log(self) -> str:
        return (self.folder / "access.log").read_text()

    def verify(self) -> int:
        """Send a request that reads the database."""
        body = json.dumps({"siteId": str(self.site.public_id)})
        return self.ask("POST", "/api/oci/v2/verify", body, x_api_key=self.key, Content_Type="application/json")[0]


@pytest.fixture(scope="module", params=BOTH)
def ports(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, django_db_setup: None
) -> Iterator[tuple[int, int, Path]]:
    proxy: Proxy = request.param
    folder = tmp_path_factory.mktemp("proxy")
    static = folder / "static"
    static.mkdir()
    (static / "lock.0123456789ab.css").write_text("a {}")
    (static / "plain.css").write_text("b {}")
    with web_process(folder, KILIT_PROXIES="1") as web, proxy(folder, web=web, static=static) as port:
        yield port, web, folder


@pytest.fixture
def edge(ports: tuple[int, int, Path]) -> Edge:
    return Edge(*ports)


def code_of(answer: bytes) -> str:
    return str(json.loads(answer)["error"]["code"])


@pytest.mark.nightly  # by day, tests/processes/config/web/test_gunicorn.py: eight of them
def test_no_honest_request_fails_under_500_slow_headers_and_100_slow_bodies_with_a_valid_key(edge: Edge) -> None:
    statuses = []
    with SlowClients(edge.port, headers=500, bodies=100, key=edge.key, tls=True) as strangers:
        while strangers.still_open() > 100:  # headers have ten seconds
            statuses += [edge.ask("GET", "/healthz")[0], edge.verify()]
        in_the_end = [edge.verify() for _ in range(10)]

    assert set(statuses + in_the_end) == {200}
    assert len(statuses) > 20
    assert edge.verify() == 200


@pytest.mark.parametrize("ports", [ONLY_NGINX], indirect=True)
def test_an_address_with_too_many_requests_at_once_is_refused_in_json(edge: Edge) -> None:
    with SlowClients(edge.port, headers=0, bodies=201, key=edge.key, tls=True) as strangers:
        wait_until(lambda: strangers.answers)
        assert edge.verify() == 200

    assert strangers.answers == [b"HTTP/1.1 429 Too Many Requests"]


def test_what_is_too_large_is_refused_in_json_and_what_is_not_arrives(edge: Edge) -> None:
    def post(size: int, **options: str) -> tuple[int, str]:
        body = json.dumps({"siteId": str(edge.site.public_id), "queueIds": ["x" * 1000] * (size // 1000)}).encode()
        chunked = (body[start : start + 65536] for start in range(0, len(body), 65536))
        whole = options.pop("whole", "")
        status, headers, answer = edge.ask(
            "POST",
            "/api/oci/ack",
            body if whole else chunked,
            x_api_key=edge.key,
            Content_Type="application/json",
            **options,
        )
        assert headers["Content-Type"].startswith("application/json")
        return status, code_of(answer) if status >= 400 else ""

    assert post(MB, whole="yes") == (200, "")
    assert post(7 * MB, whole="yes") == (413, "TOO_LARGE")
    # Caddy passes chunks on as they are; nginx collects them.
    assert post(MB) in {(200, ""), (411, "LENGTH_REQUIRED")}


def test_ids_reach_the_application_and_the_log_has_no_query(edge: Edge) -> None:
    sent = edge.ask("GET", "/healthz?gclid=secret", X_Request_ID="of-the-caller-1", traceparent=TRACE)
    unnamed = edge.ask("GET", "/pdf/links/secret?gclid=secret")

    assert sent[1]["X-Request-ID"] == "of-the-caller-1"
    name = unnamed[1]["X-Request-ID"]
    assert re.fullmatch(r"[0-9a-f-]{32,36}", name)
    log = wait_until(lambda: (text := edge.log()) and name in text and text)
    assert "of-the-caller-1" in log
    assert TRACE in log
    assert "secret" not in log


class HalfAnswer(BaseHTTPRequestHandler):
    """Closes the connection in the middle of its answer, or writes until the client is gone."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", str(1000 * MB))
        self.end_headers()
        for _ in range(1000 if "endless" in self.path else 1):
            self.wfile.write(b"x" * MB)

    do_GET = do_POST

    def log_message(self, *_: object) -> None:
        """Write nothing."""


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Write nothing when the client is gone."""


@contextmanager
def breaking_downloads(port: int) -> Iterator[None]:
    with QuietServer(("127.0.0.1", port), HalfAnswer) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield
        finally:
            server.shutdown()


SECRET_PATHS = ["/pdf/links/SECRET", "/order-status/SECRET", "/piece/SECRET", "/admin/password-reset/MQ/SECRET/", "/x"]


@pytest.mark.parametrize("proxy", BOTH)
def test_a_request_that_breaks_off_leaves_no_secret_in_a_log(proxy: Proxy, tmp_path: Path) -> None:
    web = free_port()

    def send(port: int, path: str, method: str = "GET", body: bytes = b"") -> http.client.HTTPSConnection:
        headers = {"X-API-Key": "kilit_SECRET", "Referer": f"https://localhost{path}"}
        connection = http.client.HTTPSConnection("localhost", port, timeout=PATIENCE, context=TRUSTING)
        connection.request(method, path, body, headers)
        return connection

    with proxy(tmp_path, web=web) as port:
        with breaking_downloads(web):
            for path in SECRET_PATHS:
                with closing(send(port, f"{path}?gclid=SECRET")) as cut, pytest.raises(http.client.IncompleteRead):
                    cut.getresponse().read()
                with closing(send(port, f"{path}?gclid=SECRET&endless")) as left:
                    left.getresponse().read(1)
            with closing(send(port, "/x?gclid=SECRET", "POST", b"x" * MB)) as large:
                large.getresponse().read(1)
        with closing(send(port, "/pdf/links/SECRET?gclid=SECRET")) as refused, suppress(TimeoutError):
            refused.sock.settimeout(1)  # nginx says at once that nobody listens; Caddy waits for the web service
            refused.getresponse()

    # The proxy has ended, and all is written.
    written = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert [name for name, content in written.items() if b"SECRET" in content] == []
    assert len(written["access.log"].splitlines()) > len(SECRET_PATHS)


def test_static_files_are_served_by_the_proxy(edge: Edge) -> None:
    hashed, plain = edge.ask("GET", "/static/lock.0123456789ab.css"), edge.ask("GET", "/static/plain.css")

    assert (hashed[0], hashed[2], plain[2]) == (200, b"a {}", b"b {}")
    assert "max-age=315360000" in hashed[1]["Cache-Control"]
    assert "max-age=60" in plain[1]["Cache-Control"]
    assert plain[1]["Content-Type"].startswith("text/css")
    assert plain[1]["X-Content-Type-Options"] == "nosniff"


def form(size: int) -> tuple[Iterator[bytes], dict[str, str]]:
    """A form with a file of this size, which no importer accepts: its header names none of the columns."""
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nno,column\r\n'
    tail = b"\r\n--x--\r\n"

    def parts() -> Iterator[bytes]:
        yield head
        for _ in range(size // MB):
            yield b"1,2\r\n" * (MB // 5) + b"\n"
        yield tail

    length = len(head) + size // MB * (MB // 5 * 5 + 1) + len(tail)
    return parts(), {"Content_Type": "multipart/form-data; boundary=x", "Content_Length": str(length)}


@pytest.mark.nightly  # 200 MB
def test_a_file_of_200_mb_is_received_from_those_who_are_logged_in(edge: Edge) -> None:
    session = make_person(role="owner").cookies["sessionid"].value
    token = re.search(
        rb'name="csrfmiddlewaretoken" value="(\w+)"', edge.ask("GET", IMPORT, Cookie=f"sessionid={session}")[2]
    )
    assert token
    secret = token[1].decode()
    cookie = f"sessionid={session}; csrftoken={secret}"
    body, headers = form(199 * MB)

    status, _, page = edge.ask(
        "POST", IMPORT, body, Cookie=cookie, X_CSRFToken=secret, Referer=f"https://localhost:{edge.port}/", **headers
    )

    assert status == 200
    assert b"a.csv" in page or b"column" in page
    assert edge.verify() == 200


def test_a_large_answer_that_is_read_slowly_arrives_whole_and_stops_nobody(edge: Edge) -> None:
    with ExitStack() as stack:
        connections = [stack.enter_context(closing(edge.connect())) for _ in range(8)]
        for connection in connections:
            connection.request("GET", "/api/schema/", headers={"Accept-Encoding": "identity"})
        answers = [connection.getresponse() for connection in connections]
        beginnings = [answer.read(1000) for answer in answers]

        assert [edge.verify() for _ in range(5)] == [200] * 5

        assert len({beginning + answer.read() for beginning, answer in zip(beginnings, answers, strict=True)}) == 1


def test_a_large_file_of_a_stranger_is_refused_after_the_header(edge: Edge) -> None:
    with closing(edge.connect()) as connection:
        connection.putrequest("POST", IMPORT)
        connection.putheader("Content-Length", str(199 * MB))
        connection.putheader("Content-Type", "multipart/form-data; boundary=x")
        connection.endheaders()
        answer = connection.getresponse()

        assert (answer.status, answer.headers["Location"]) == (302, f"/admin/login/?next={IMPORT}")
    assert edge.verify() == 200
