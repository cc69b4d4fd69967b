"""Channels, problems that a test decides on, a mail server and a receiver of apprise's JSON, both real."""

import json
import threading
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller
from django.db.models import F

from kilit.problems.kinds import ProblemKind
from kilit.problems.models import ProblemRecord
from kilit.problems.registry import Problem, Severity
from outbox.models import Channel, OutboxMessage


def make_channel(address: str = "ops@example.com", **columns: Any) -> Channel:
    channel = Channel(**{"name": "Operations", **columns})
    channel.address = address
    channel.save()
    return channel


def held(count: int = 1, **columns: Any) -> Problem:
    """Return a problem as the cutting queue has it."""
    columns = {"title": f"{count} jobs need approval", "name": "E_X", "count": count, **columns}
    columns = {"severity": Severity.WARNING, "kind": ProblemKind.HOLD, "part": "cutting_job", **columns}
    return Problem(**columns)


def kinds() -> list[str]:
    """Return the kinds of the alerts that were made."""
    return list(OutboxMessage.objects.order_by("id").values_list("kind", flat=True))


def bodies() -> list[dict[str, Any]]:
    return [json.loads(body) for body in OutboxMessage.objects.order_by("id").values_list("body", flat=True)]


def time_passes(span: timedelta) -> None:
    """Move everything that was noted about problems and channels to the past."""
    records = ProblemRecord.objects.all()
    records.update(opened_at=F("opened_at") - span, seen_at=F("seen_at") - span, closed_at=F("closed_at") - span)
    Channel.objects.update(looked_at=F("looked_at") - span)


class AnyPort(Controller):
    """A controller that lets the system choose the port."""

    def _trigger_server(self) -> None:
        server: Any = self.server
        self.port = server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]


class MailServer:
    """An SMTP server on a port of its own."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.refusal = ""
        self.controller = AnyPort(self, hostname="127.0.0.1", port=0)
        self.controller.start()
        self.port = self.controller.port

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        if self.refusal:
            return self.refusal
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 OK"

    def stop(self) -> None:
        self.controller.stop()


class JsonReceiver(ThreadingHTTPServer):
    """What apprise's json:// sends to, or another HTTP client; it notes everything, and answers as a test wants."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), JsonHandler)
        self.received: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.status, self.location = 200, ""
        self.answers = threading.Event()
        self.answers.set()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def address(self) -> str:
        return f"json://operator:secret-token@127.0.0.1:{self.server_port}/hook"

    def stop(self) -> None:
        self.answers.set()
        self.shutdown()
        self.server_close()


class JsonHandler(BaseHTTPRequestHandler):
    server: JsonReceiver

    def do_POST(self) -> None:
        self.server.paths.append(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.received.append(json.loads(body or "{}"))
        self.server.answers.wait(60)
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_: object) -> None:
        """Stay silent."""
