"""Signed messages, for tests that need no database."""

import base64
import hmac
import time

SECRET = "whsec_" + base64.b64encode(b"a secret of twenty-four.").decode()
BODY = b'{"type":"test","timestamp":"2026-11-16T12:00:00Z","data":{}}'


def signed(message_id: str = "msg_1", body: bytes = BODY, *, secret: str = SECRET) -> dict[str, str]:
    """Return the headers of a message, as the specification describes them."""
    seconds = str(int(time.time()))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.digest(key, f"{message_id}.{seconds}.".encode() + body, "sha256")
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
        "Content-Type": "application/json",
    }
