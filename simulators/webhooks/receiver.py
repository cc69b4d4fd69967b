"""The receiver: HTTP/1.1 on loopback, in one event loop, quick enough for benchmarks.

- `POST /any/path`: a message; its signature is verified by the official library.
- `GET /`: counts, for all paths and for each. `GET /ids`: how often each message was accepted, by its id.
- `POST /control` with `{"path": "/slow", "delay": 5}`: how messages to a path, or to all, are answered from now on
  (`Behaviour`). `DELETE /control`: answer 200 again.
"""

import asyncio
import hashlib
import json
import random
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

MOST_IDS = 200_000  # the oldest are forgotten


@dataclass(frozen=True)
class Behaviour:
    """How messages are answered. A `rate` below 1 lets the others through, with 200."""

    status: int = 200
    rate: float = 1.0
    delay: float = 0.0  # seconds
    retry_after: str = ""
    location: str = ""
    body: str = ""
    closes: bool = False  # without an answer

    @classmethod
    def read(cls, values: dict[str, object]) -> "Behaviour":
        return cls(**{name: type(getattr(cls, name))(value) for name, value in values.items()})

    def applies(self) -> bool:
        return self.rate >= 1 or random.random() < self.rate  # noqa: S311 - not for security

    @property
    def headers(self) -> dict[str, str]:
        optional = {"Retry-After": self.retry_after, "Location": self.location}
        return {name: value for name, value in optional.items() if value}


GOOD = Behaviour()


class WebhookReceiver:
    """Verifies and counts messages. It can run in a thread (`start` and `stop`) or be a program of its own."""

    def __init__(self, secrets: Sequence[str], *, port: int = 0) -> None:
        self.port = port
        self.verifiers: list[Webhook] = []
        self.behaviours: dict[str, Behaviour] = {}
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.accepted: Counter[str] = Counter()  # by message id
        self.digests: dict[str, bytes] = {}
        self.connections = 0
        self._open: set[asyncio.Transport] = set()
        self.trust(*secrets)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def trust(self, *secrets: str) -> None:
        self.verifiers += [Webhook(secret) for secret in secrets]

    def behave(self, path: str = "", **values: object) -> None:
        self.behaviours[path] = Behaviour.read(values)

    async def serve(self) -> asyncio.Server:
        server = await asyncio.get_running_loop().create_server(lambda: _Connection(self), "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def start(self) -> "WebhookReceiver":
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(self.serve())
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening and cut every connection, as a process that is killed does."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        for transport in list(self._open):
            transport.abort()
        await asyncio.sleep(0)  # let them close

    def receive(self, path: str, headers: dict[str, str], body: bytes) -> Behaviour:
        """Count a message, and return how it is answered."""
        counts, message = self.counts[path], headers.get("webhook-id", "")
        counts["received"] += 1
        if not self._is_signed(headers, body):
            counts["invalid"] += 1
            return Behaviour(status=HTTPStatus.UNAUTHORIZED)
        digest = hashlib.sha256(body).digest()
        if self.digests.setdefault(message, digest) != digest:
            counts["changed"] += 1  # the same id with another body
        behaviour = self.behaviours.get(path) or self.behaviours.get("") or GOOD
        if not behaviour.applies():
            behaviour = GOOD
        if behaviour.closes or behaviour.status not in range(200, 300):
            counts["failed"] += 1
            return behaviour
        counts["accepted"] += 1
        counts["repeated"] += message in self.accepted
        self.accepted[message] += 1
        if len(self.digests) > MOST_IDS:
            oldest = next(iter(self.digests))
            del self.digests[oldest], self.accepted[oldest]
        return behaviour

    def summary(self) -> dict[str, Any]:
        total: Counter[str] = Counter()
        for counts in self.counts.values():
            total += counts
        return {"connections": self.connections, **total, "paths": self.counts}

    def _is_signed(self, headers: dict[str, str], body: bytes) -> bool:
        for verifier in self.verifiers:
            try:
                verifier.verify(body, headers)
            except (WebhookVerificationError, ValueError):  # ValueError: a signature or a body it cannot read
                continue
            return True
        return False


class _Connection(asyncio.Protocol):
    """Reads one request after the other; an answer may be delayed."""

    transport: asyncio.Transport

    def __init__(self, receiver: WebhookReceiver) -> None:
        self.receiver, self.data = receiver, b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.receiver.connections += 1
        self.receiver._open.add(transport)  # noqa: SLF001 - its own connection

    def connection_lost(self, exc: Exception | None) -> None:
        self.receiver._open.discard(self.transport)  # noqa: SLF001

    def data_received(self, data: bytes) -> None:
        self.data += data
        while (end := self.data.find(b"\r\n\r\n")) >= 0:
            first, *lines = self.data[:end].decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            stop = end + 4 + int(headers.get("content-length", 0))
            if len(self.data) < stop:
                return
            body, self.data = self.data[end + 4 : stop], self.data[stop:]
            method, path, _ = first.split(" ", 2)
            self.answer(method, path, headers, body)

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        match method, path:
            case "GET", "/ids":
                self.write(json.dumps(self.receiver.accepted))
            case "GET", _:
                self.write(json.dumps(self.receiver.summary(), indent=2) + "\n")
            case "DELETE", "/control":
                self.receiver.behaviours.clear()
                self.write("{}")
            case "POST", "/control":
                values = json.loads(body)
                self.receiver.behave(values.pop("path", ""), **values)
                self.write("{}")
            case _:
                self.answer_message(self.receiver.receive(path, headers, body))

    def answer_message(self, behaviour: Behaviour) -> None:
        if behaviour.delay:
            asyncio.get_running_loop().call_later(behaviour.delay, self.write_behaviour, behaviour)
        else:
            self.write_behaviour(behaviour)

    def write_behaviour(self, behaviour: Behaviour) -> None:
        if behaviour.closes:
            self.transport.abort()
        else:
            self.write(behaviour.body, behaviour.status, behaviour.headers)

    def write(self, text: str, status: int = 200, headers: dict[str, str] | None = None) -> None:
        content = text.encode()
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Content-Length: {len(content)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if not self.transport.is_closing():
            self.transport.write("\r\n".join([*lines, "", ""]).encode() + content)
