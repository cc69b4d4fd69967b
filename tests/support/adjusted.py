"""Conversions that Google has, and adjustments to them."""

from typing import Any

from django.db.models.functions import Now

from ociqueue.intake.adjustments import adjust
from ociqueue.models import Adjustment, Conversion, Credentials, Site
from ociqueue.models.sending import failure
from ociqueue.states import SyncMethod
from tests.support.conversions import new_conversion


def api_site(**columns: Any) -> Site:
    """Make a site of the Google Ads API with credentials that nothing reads."""
    site = Site.objects.create(
        **{"name": "Mobilya", "default_currency": "TRY", "sync_method": SyncMethod.API, **columns}
    )
    Credentials.objects.create(site=site, encrypted="x")
    return site


def make_sold(site: Site, **columns: Any) -> Conversion:
    """Make a conversion that Google has."""
    row = new_conversion(site, **{"value": 100, "currency": "TRY", **columns})
    row.save()
    rows = Conversion.objects.filter(pk=row.pk)
    rows.move("claim", claimed_at=Now())
    rows.move("ack")
    return rows.get()


def restate(row: Conversion, value: Any = 80) -> Adjustment:
    return _stored(adjust(row.site, [{"id": str(row), "kind": "RESTATEMENT", "value": value}]))


def retract(row: Conversion) -> Adjustment:
    return _stored(adjust(row.site, [{"id": str(row), "kind": "RETRACTION"}]))


def complete(adjustment: Adjustment) -> Adjustment:
    """Let Google confirm it."""
    _claim(adjustment).move("ack", uploaded_at=Now())
    return Adjustment.objects.get(pk=adjustment.pk)


def fail(
    adjustment: Adjustment, code: str = "INVALID_VALUE", category: str = "PERMANENT", message: str = "bad"
) -> Adjustment:
    _claim(adjustment).move("ack_failed", **failure(code, category, message))
    return Adjustment.objects.get(pk=adjustment.pk)


def _claim(adjustment: Adjustment) -> Any:
    rows = Adjustment.objects.filter(pk=adjustment.pk)
    rows.move("claim", claimed_at=Now(), attempt_count=1)
    return rows


def _stored(results: Any) -> Adjustment:
    (result,) = results
    return Adjustment.objects.get(pk=result["id"].removeprefix("adj_"))
