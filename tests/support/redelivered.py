"""An order that a shop sends more than once."""

from typing import Any

from ociqueue.intake.enqueue import enqueue
from ociqueue.models import Conversion, Site
from tests.support.conversions import YESTERDAY

ORDER = {
    "conversionName": "Satış",
    "gclid": "Cj0KCQ-first",
    "conversionTime": YESTERDAY,
    "conversionValue": "120.50",
    "conversionCurrency": "TRY",
    "sourceKey": "order-1001",
}


def send(site: Site, **changes: Any) -> dict[str, Any]:
    (result,) = enqueue(site, [{**ORDER, **changes}])
    return dict(result)


def only(**columns: Any) -> Conversion:
    return Conversion.objects.get(**columns)


def fail(**error: str) -> Conversion:
    rows = Conversion.objects.filter(is_replaced=False)
    rows.claim(limit=10)
    rows.ack_failed(**{"code": "INVALID_GCLID", "category": "VALIDATION", "message": "bad", **error})
    return rows.get()


def claim() -> None:
    Conversion.objects.all().claim(limit=1)
