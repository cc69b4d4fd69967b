"""A person to forget, and conversions of theirs that have ended."""

from typing import Any

from ociqueue.models import Adjustment, Conversion, Site
from tests.support.conversions import new_conversion

GCLID = "Cj0KCQiA-7fLBhDKARIsAP8zXk2qErasureErasureErasure_wcB"
EMAIL, PHONE = "Jane.Doe+promo@gmail.com", "+905321234567"


def finish(site: Site, **columns: Any) -> Conversion:
    row = new_conversion(site, **columns)
    row.save()
    mine = Conversion.objects.filter(pk=row.pk)
    mine.claim(limit=1)
    mine.ack()
    return mine.get()


def adjust(row: Conversion, **columns: Any) -> Adjustment:
    given = {"site": row.site, "action": row.action, "order_id": row.order_id, "kind": "RETRACTION", **columns}
    return Adjustment.objects.create(original=row, adjusted_at=row.created_at, **given)
