"""A person to forget, and conversions of theirs that have ended."""

from typing import Any

from ociqueue.models import Conversion, Site
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
