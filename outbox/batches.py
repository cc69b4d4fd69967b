"""A batch: messages that a worker has claimed for one endpoint, sent one after the other over one connection.

Batches are sent in threads, which never use the database. What a batch did not get to is given back.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from standardwebhooks import Webhook

from kilit.access.encryption import DecryptionError
from kilit.lock.clock import ClockReading
from kilit.lock.models import Event
from kilit.outgoing.post import Poster
from kilit.outgoing.results import PostError, PostResult
from kilit.trace import job_trace, trace_headers
from outbox.models import Endpoint, OutboxMessage

SIGNATURE = "webhook-signature"
# After this the rest is given back: the endpoint has become slow, and the lease must not run out.
STOP_AFTER = 2.0  # seconds
SECRET_UNREADABLE = "SECRET_UNREADABLE"  # noqa: S105 - an error code


def signers_of(endpoint: Endpoint, now: datetime) -> list[Webhook]:
    """Return a signer for each valid secret: during a rotation there are two, and receivers accept either."""
    return [Webhook(secret) for secret in endpoint.secrets(now)]


def signed_headers(message: OutboxMessage, signers: Sequence[Webhook], *, at: datetime) -> dict[str, str]:
    name = message.webhook_id
    return {
        "Content-Type": "application/json",
        "User-Agent": "Kilit-Webhooks",
        "webhook-id": name,
        "webhook-timestamp": str(int(at.timestamp())),
        SIGNATURE: " ".join(signer.sign(name, at.astimezone(UTC), message.body) for signer in signers),
        **trace_headers(),
    }


@dataclass(frozen=True)
class Try:
    message: OutboxMessage
    started_at: datetime
    headers: dict[str, str]
    result: PostResult


@dataclass
class MessageBatch:
    endpoint: Endpoint
    messages: list[OutboxMessage]
    signers: list[Webhook] = field(default_factory=list)
    traces: Mapping[UUID, str] = field(default_factory=dict)  # of the jobs that the messages are about
    tries: list[Try] = field(default_factory=list)

    def __post_init__(self) -> None:
        # When they were claimed, by the database's clock: receivers reject a signature that is some minutes off.
        leased_until: Any = self.messages[0].lease_until  # set by the claim
        self.clock = ClockReading(leased_until - OutboxMessage.lease_length)

    def prepare(self) -> Self:
        """Read the traces and decrypt the secrets; without one nothing is sent, and every message counts as tried."""
        self.traces = Event.objects.traces_of({row.object_id for row in self.messages if row.object_id})
        now = self.clock.now()
        try:
            self.signers = signers_of(self.endpoint, now)
        except DecryptionError as error:
            result = PostResult(0.0, error=SECRET_UNREADABLE, detail=str(error))
            self.tries = [Try(message, now, {}, result) for message in self.messages]
        return self

    def send(self, poster: Poster) -> Self:
        end = time.monotonic() + STOP_AFTER
        for message in self.unsent:
            started_at = self.clock.now()
            with job_trace(self.traces.get(message.object_id, "") if message.object_id else "", "webhook"):
                headers = signed_headers(message, self.signers, at=started_at)
                result = poster.post(message.url or self.endpoint.url, message.body.encode(), headers)
            self.tries.append(Try(message, started_at, headers, result))
            if time.monotonic() > end or self.ends_with(result):
                break
        return self

    @staticmethod
    def ends_with(result: PostResult) -> bool:
        return result.error == PostError.GONE or result.requested_wait is not None

    @property
    def unsent(self) -> list[OutboxMessage]:
        return self.messages[len(self.tries) :]

    @property
    def pace(self) -> float:
        """Seconds that an attempt took, on average."""
        return sum(attempt.result.seconds for attempt in self.tries) / len(self.tries)
