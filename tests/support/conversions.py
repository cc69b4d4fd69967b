"""Conversions that are not stored yet, and the API as a client with a key sees it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.test import Client

from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import make_order_id

# Conversions are accepted for 90 days, so tests send one of yesterday and not of a fixed date.
YESTERDAY = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT10:00:00Z")
DAY = YESTERDAY[:10]


def new_conversion(site: Site, **columns: Any) -> Conversion:
    """Return a valid row, not stored yet."""
    click_id = {} if columns.keys() & set(Conversion.CLICK_IDS) else {"gclid": "Cj0KCQ-test_1"}
    conversion = Conversion(
        site=site,
        **{
            "action": "Satış",
            "conversion_time": datetime.now(UTC) - timedelta(hours=2),
            "value": 120,
            "currency": "TRY",
            **click_id,
            **columns,
        },
    )
    conversion.order_id = make_order_id(str(site.pk), conversion.action, conversion.source_key or str(conversion.pk))
    return conversion


def make_failed(
    site: Site,
    number: int = 1,
    *,
    code: str = "INVALID_VALUE",
    category: str = "VALIDATION",
    message: str = "bad",
    **columns: Any,
) -> list[Conversion]:
    """Make rows that the script reported as failed."""
    rows = Conversion.objects.bulk_create([new_conversion(site, **columns) for _ in range(number)])
    chosen = Conversion.objects.filter(pk__any_of=[row.pk for row in rows])
    chosen.claim(limit=number)
    chosen.ack_failed(code=code, category=category, message=message)
    return list(chosen.order_by("pk"))


class Api:
    """The API as a client with a key sees it."""

    def __init__(self, key: str | None = None, client: Client | None = None) -> None:
        self.client = client or Client()
        self.headers = {"x-api-key": key} if key else {}

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(f"/api/{path}", query, headers=self.headers)

    def post(self, path: str, body: Any) -> Any:
        return self.client.post(f"/api/{path}", body, content_type="application/json", headers=self.headers)

    def claim(self, site: Site, **query: Any) -> list[dict[str, Any]]:
        answer = self.get("oci/google-ads-export", siteId=site.public_id, markAsExported="true", **query)
        assert answer.status_code == 200, answer.content
        return answer.json()
