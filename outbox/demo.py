"""Demo data: an endpoint at the simulated receiver, which `manage.py up` starts."""

from datetime import UTC, datetime

from django.conf import settings

from kilit.api.webhooks import webhook_kinds
from outbox.models import Endpoint

DESCRIPTION = "Demo receiver"


def load_demo(url: str) -> list[str]:
    """Send every kind of webhook to this address; return the secrets that its receiver verifies them with."""
    endpoint, is_new = Endpoint.objects.get_or_create(
        description=DESCRIPTION, scope="", defaults={"url": url, "kinds": sorted(webhook_kinds)}
    )
    if not is_new:  # the receiver has another port each time
        Endpoint.objects.filter(pk=endpoint.pk).update(url=url)
    return endpoint.secrets(datetime.now(UTC))


def private_addresses() -> str:
    """Return the value of KILIT_WEBHOOK_PRIVATE_ADDRESSES that also allows this machine."""
    return ",".join([*(str(network) for network in settings.WEBHOOK_PRIVATE_ADDRESSES), "127.0.0.1"])
