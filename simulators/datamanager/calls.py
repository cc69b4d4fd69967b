"""A call of the server, and the replies that tests script."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulators.datamanager.refusals import GoogleRefusal

if TYPE_CHECKING:
    from simulators.datamanager.server import DataManagerServer

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
