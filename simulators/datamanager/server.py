"""The server: uploads, questions for verdicts, and the login, each as scripted; it keeps books of what it took.

A row's click id may name its fate: REFUSE-INVALID_FORMAT-7 is refused at once, REFUSE-UNNAMED-7 without saying which
row is meant, FAIL-CLICK_NOT_FOUND-7 fails later, and WARN-NAME-7 is taken with a warning. So may a request id that this
server did not give: TAKEN-6-CLICK_NOT_FOUND is a request of six events, the last of which fails.
"""

import json
import threading
import time
import urllib.parse
import uuid
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from socket import SHUT_RDWR
from typing import Any

from simulators.datamanager.refusals import (
    GoogleRefusal,
    Violation,
    exhausted,
    invalid,
    unauthenticated,
    unknown_action,
)
from simulators.datamanager.statuses import Change, TakenRequest, changed, taken_elsewhere
from simulators.datamanager.validation import check_request, event_violations, is_in_future
from simulators.google.login import TOKEN, JsonHandler, token_answer

INGEST = "/v1/events:ingest"
RETRIEVE = "/v1/requestStatus:retrieve"
Answer = dict[str, Any]
Reply = Callable[["DataManagerCall"], Answer]


class CutConnection(Exception):
    """The connection ends without an answer."""


@dataclass
class DataManagerCall:
    server: "DataManagerServer"
    path: str
    query: dict[str, str]
    body: bytes
    client: str  # the OAuth client or the service account
    at: float = field(default_factory=time.monotonic)

    @property
    def is_upload(self) -> bool:
        return self.path == INGEST

    @property
    def events(self) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = json.loads(self.body).get("events", [])
        return events

    def accept(self) -> Answer:
        """Answer as Google does: take the request or refuse it, or give its status."""
        return self.server.ingest(self.body) if self.is_upload else self.server.retrieve(self.query)


def accept(call: DataManagerCall) -> Answer:
    return call.accept()


def refuse(refusal: GoogleRefusal) -> Reply:
    def reply(_: DataManagerCall) -> Answer:
        raise refusal

    return reply


def cut_before(_: DataManagerCall) -> Answer:
    raise CutConnection


def cut_after(call: DataManagerCall) -> Answer:
    call.accept()
    raise CutConnection


def held(until: threading.Event, *, then: Reply = accept) -> Reply:
    """Answer only when the test lets it."""

    def reply(call: DataManagerCall) -> Answer:
        call.server.holding.set()
        until.wait(call.server.patience)
        return then(call)

    return reply


@dataclass
class TransactionEntry:
    """What came for one transaction id; a second upload adjusts the first, and the count stays 1."""

    events: list[str] = field(default_factory=list)  # as JSON, in the order in which they came
    request_ids: list[str] = field(default_factory=list)
    is_applied: bool = False


class DataManagerServer:
    """A scriptable server; `reset` restores its initial state."""

    patience = 60.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.calls: list[DataManagerCall] = []
        self.replies: deque[Reply] = deque()  # to the next uploads
        self.question_replies: deque[Reply] = deque()  # to the next questions for a verdict
        self.entries: dict[str, TransactionEntry] = {}  # by transaction id
        # Value and currency by account, action and transaction id. A second event overwrites the first.
        self.counted: dict[tuple[str, str, str], tuple[float, str]] = {}
        self.requests: dict[str, TakenRequest] = {}  # by request id
        self.holding = threading.Event()
        self.upload_reply: Reply = accept  # when no other is scripted
        self.question_reply: Reply = accept
        self.refusals: dict[str, Violation] = {}  # by click id; `field` is the path inside the event
        self.verdicts: dict[str, list[str]] = {}  # later reasons, by click id
        self.most_violations: int | None = None  # how many rows a refusal names
        self.processing: float = 0  # how many questions about a request are answered PROCESSING
        self.change: Change | None = None  # made to each status
        self.reports_duplicates = False
        self.unknown_actions: set[str] = set()
        self.quota: int | None = None  # requests per minute and client
        self.login, self.logins = "ok", 0

    def start(self, *, port: int = 0) -> "DataManagerServer":
        self._http = ThreadingHTTPServer(("127.0.0.1", port), handler(self))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that point an uploader to this server."""
        return {"KILIT_DATA_MANAGER_ENDPOINT": self.address, "KILIT_GOOGLE_TOKEN_URI": f"{self.address}/token"}

    @property
    def uploads(self) -> list[DataManagerCall]:
        return [call for call in self.calls if call.is_upload]

    @property
    def questions(self) -> list[DataManagerCall]:
        return [call for call in self.calls if not call.is_upload]

    @property
    def applied(self) -> set[str]:
        """Return the transaction ids that count as conversions."""
        return {name for name, entry in self.entries.items() if entry.is_applied}

    def values_of(self, transaction_id: str) -> list[tuple[float, str]]:
        """Return value and currency of each conversion that counts under an id; there should be one."""
        return [conversion for key, conversion in self.counted.items() if key[2] == transaction_id]

    def answer(self, call: DataManagerCall) -> Answer:
        with self._lock:
            self.calls.append(call)
            # Two concurrent calls must not both see the last reply.
            scripted = self.replies if call.is_upload else self.question_replies
            usual = self.upload_reply if call.is_upload else self.question_reply
            reply = scripted.popleft() if scripted else usual
            recent = [one for one in self.calls if one.client == call.client and one.at > call.at - 60]
        if self.quota is not None and len(recent) > self.quota:
            raise exhausted()
        return reply(call)

    def ingest(self, raw: bytes) -> Answer:
        """Refuse the request for any bad event, or take all of them."""
        body = json.loads(raw)
        check_request(body)
        events, validate_only = body["events"], body.get("validateOnly", False)
        for destination in body["destinations"]:
            if destination["productDestinationId"] in self.unknown_actions:
                raise unknown_action(destination["productDestinationId"])
        violations = event_violations(body) + self._scripted(events)
        if not validate_only:  # Google finds these only in earnest
            violations += [
                Violation(f"events[{number}]", "", "Invalid transaction id.")
                for number, event in enumerate(events)
                if str(event.get("transactionId", "")).isdigit()
            ]
        if violations:
            raise invalid(*violations[: self.most_violations])
        if any(is_in_future(event) or click_id(event).startswith("REFUSE-UNNAMED") for event in events):
            raise invalid()
        return self._take(raw, body, validate_only=validate_only)

    def retrieve(self, query: dict[str, str]) -> Answer:
        with self._lock:
            request_id = query.get("requestId", "")
            request = self.requests.get(request_id) or taken_elsewhere(request_id)
            if request is None or request.validate_only:
                raise invalid(Violation("request_id", "INVALID_REQUEST_ID"))
            self.requests[request_id] = request
            request.questions += 1
            if request.questions <= self.processing:
                return request.processing()
            return changed(request.status(), self.change)

    def _take(self, raw: bytes, body: dict[str, Any], *, validate_only: bool) -> Answer:
        request_id = str(uuid.uuid4())
        events = body["events"]
        with self._lock:
            errors = [self._later(event) for event in events]
            warnings = [_named(event, "WARN") for event in events]
            taken = TakenRequest(raw, body["destinations"][0], events, errors, warnings, validate_only)
            self.requests[request_id] = taken
            if not validate_only:
                for event, reasons in zip(events, errors, strict=True):
                    entry = self.entries.setdefault(event["transactionId"], TransactionEntry())
                    entry.events.append(json.dumps(event))
                    entry.request_ids.append(request_id)
                    entry.is_applied |= not reasons
                    if not reasons:
                        self._count(body["destinations"][0], event)
        field_warnings = [
            Violation(f"events.events[{number}].ad_identifiers", names[0]).json()
            for number, names in enumerate(warnings)
            if names
        ]
        return {"requestId": request_id, **({"fieldWarnings": field_warnings} if field_warnings else {})}

    def _count(self, destination: dict[str, Any], event: dict[str, Any]) -> None:
        key = (destination["operatingAccount"]["accountId"], destination["productDestinationId"])
        self.counted[*key, event["transactionId"]] = (event.get("conversionValue", 0), event.get("currency", ""))

    def _later(self, event: dict[str, Any]) -> list[str]:
        reasons = self.verdicts.get(click_id(event), []) + _named(event, "FAIL")
        came_before = self.entries.get(event["transactionId"])
        if not reasons and self.reports_duplicates and came_before and came_before.is_applied:
            return ["DUPLICATE_TRANSACTION_ID"]
        return reasons

    def _scripted(self, events: list[dict[str, object]]) -> list[Violation]:
        violations = []
        for number, event in enumerate(events):
            place = f"events.events[{number}]"
            if refusal := self.refusals.get(click_id(event)):
                path = f"{place}.{refusal.field}" if refusal.field else place
                violations.append(Violation(path, refusal.reason, refusal.description))
            names = [name for name in _named(event, "REFUSE") if name != "UNNAMED"]
            violations += [Violation(f"{place}.ad_identifiers", name) for name in names]
        return violations


def click_id(event: dict[str, Any]) -> str:
    """Return the click id of an event, or else its first hash."""
    user_identifiers = (event.get("userData") or {}).get("userIdentifiers") or [{}]
    identifiers = event.get("adIdentifiers") or {"gclid": next(iter(user_identifiers[0].values()), "")}
    return str(identifiers.get("gclid") or identifiers.get("wbraid") or identifiers.get("gbraid") or "")


def _named(event: dict[str, object], fate: str) -> list[str]:
    parts = click_id(event).split("-")
    return [parts[1]] if parts[0] == fate and len(parts) > 1 else []


def handler(server: DataManagerServer) -> type[JsonHandler]:
    class DataManagerHandler(JsonHandler):
        def do_POST(self) -> None:
            body = self.read_body()
            if self.path == "/token":
                self.send_json(*token_answer(server, body))
            else:
                self._answer(body)

        def do_GET(self) -> None:
            self._answer(b"")

        def _answer(self, body: bytes) -> None:
            try:
                self.send_json(200, self._call(body))
            except GoogleRefusal as refusal:
                self.send_json(refusal.code, refusal.json(), refusal.headers)
            except CutConnection:
                self.close_connection = True
                with suppress(OSError):
                    self.connection.shutdown(SHUT_RDWR)

        def _call(self, body: bytes) -> Answer:
            parts = urllib.parse.urlsplit(self.path)
            if (self.command, parts.path) not in {("POST", INGEST), ("GET", RETRIEVE)}:
                raise GoogleRefusal("NOT_FOUND")
            query = dict(urllib.parse.parse_qsl(parts.query))
            kind, _, token = self.headers.get("Authorization", "").partition(" ")
            if kind != "Bearer" or not token.startswith(TOKEN):
                raise unauthenticated()
            client = token.removeprefix(TOKEN).lstrip(".")
            return server.answer(DataManagerCall(server, parts.path, query, body, client))

    return DataManagerHandler
