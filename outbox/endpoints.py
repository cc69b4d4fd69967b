"""What other apps may know about endpoints."""

from typing import Any

from outbox.models import Endpoint


def callback_hosts(user: Any) -> frozenset[str]:
    """Return the hosts that a caller may name in `callbackUrl`."""
    return frozenset(endpoint.host for endpoint in Endpoint.objects.usable_by(user))
