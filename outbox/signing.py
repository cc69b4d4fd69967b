"""Signs messages as Standard Webhooks specifies."""

from collections.abc import Sequence
from datetime import datetime

from standardwebhooks import Webhook

from kilit.trace import trace_headers
from outbox.models import Endpoint, OutboxMessage

SIGNATURE = "webhook-signature"


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
        SIGNATURE: " ".join(signer.sign(name, at, message.body) for signer in signers),
        **trace_headers(),
    }


def without_signature(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != SIGNATURE}
