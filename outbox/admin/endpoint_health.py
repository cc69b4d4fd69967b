"""How the endpoints of a page are doing: what waits, what failed, and when each last received something."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from kilit.console.formatting import link, number
from outbox.models import Endpoint

MOST_COUNTED = 1000
LOOKED_AT = 200  # of an endpoint's newest messages

# Each count follows an index and stops at the cap.
READ = """
    SELECT endpoint.id,
      (SELECT count(*) FROM (SELECT 1 FROM outbox_outboxmessage AS message
        WHERE message.endpoint_id = endpoint.id AND message.status IN ('QUEUED', 'RETRY') LIMIT %(most)s) AS counted),
      (SELECT count(*) FROM (SELECT 1 FROM outbox_outboxmessage AS message
        WHERE message.endpoint_id = endpoint.id AND message.status = 'FAILED' LIMIT %(most)s) AS counted),
      (SELECT max(delivered_at) FROM (SELECT delivered_at FROM outbox_outboxmessage AS message
        WHERE message.endpoint_id = endpoint.id ORDER BY message.id DESC LIMIT %(looked_at)s) AS newest)
    FROM outbox_endpoint AS endpoint WHERE endpoint.id = ANY(%(ids)s)
"""


@dataclass(frozen=True)
class EndpointHealth:
    waiting: int = 0
    failed: int = 0
    delivered_at: datetime | None = None  # of the newest messages


def fetch_health(endpoints: Sequence[Endpoint]) -> None:
    """Give each endpoint its `health`."""
    values: Any = {"most": MOST_COUNTED + 1, "looked_at": LOOKED_AT, "ids": [endpoint.pk for endpoint in endpoints]}
    with connection.cursor() as cursor:
        cursor.execute(READ, values)
        found = {pk: EndpointHealth(*numbers) for pk, *numbers in cursor.fetchall()}
    for endpoint in endpoints:
        endpoint.health = found.get(endpoint.pk, EndpointHealth())  # type: ignore[attr-defined]


def capped(count: int) -> str:
    return number(count) if count <= MOST_COUNTED else _("more than %(most)s") % {"most": number(MOST_COUNTED)}


def list_address(endpoint: Endpoint, status: str = "") -> str:
    filters = {"endpoint": str(endpoint.pk), **({"status": status} if status else {})}
    return reverse("admin:outbox_outboxmessage_changelist", query=filters)


def count_link(endpoint: Endpoint, count: int, status: str = "") -> SafeString | str:
    return link(list_address(endpoint, status), capped(count)) if count else "0"
