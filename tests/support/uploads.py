"""Uploads and open circuits for the console's tests, made as the uploader makes them."""

from typing import Any

from django.test import Client

from ociqueue.models import Circuit, Conversion, Site, UploadBatch
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.states import Category, Disposition, SyncMethod
from ociqueue.uploader import upload_run
from ociqueue.uploader.providers import provider_for
from ociqueue.uploader.results import RowResult
from ociqueue.uploader.settle import settle
from ociqueue.uploader.upload_run import SiteTurn, claim, mark_sent
from tests.support.conversions import new_conversion

SITES = "/admin/ociqueue/site/"
LIST = "/admin/ociqueue/uploadbatch/"
CONVERSIONS = "/admin/ociqueue/conversion/"


def trip(site: Site, **columns: Any) -> Circuit:
    values = {"code": "INVALID_GRANT", "category": Category.AUTH, "reason": "The login was revoked.", **columns}
    return Circuit.objects.trip(site, **values)


def sent(site: Site, *, count: int = 1, **columns: Any) -> tuple[UploadBatch, list[Conversion]]:
    """Return an upload that went out and was not answered."""
    each = ({"gclid": f"click-{number}", **columns} for number in range(count))
    Conversion.objects.bulk_create([new_conversion(site, **values) for values in each])
    pk, rows = claim(site, SiteTurn(Conversion.objects.for_site(site)))
    mark_sent(pk, rows)
    return UploadBatch.objects.get(pk=pk), rows


def received(
    site: Site, *, count: int = 1, request_id: str = "request-1", **columns: Any
) -> tuple[UploadBatch, list[Conversion]]:
    """Return an upload that Google took, and the rows that wait for its verdict, in the order that was sent."""
    batch, rows = sent(site, count=count, **columns)
    settle(batch.pk, rows, [RowResult(Disposition.RECEIVED, request_id=request_id)] * count)
    batch.refresh_from_db()
    return batch, rows


def html(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def row_page(row: Conversion) -> str:
    return f"{CONVERSIONS}{row.pk}/change/"


CUSTOMER = "1234567890"


def account(**columns: Any) -> GoogleAdsAccount:
    return GoogleAdsAccount(
        **{
            "customer_id": CUSTOMER,
            "client_id": "client",
            "client_secret": "client-secret-word",
            "refresh_token": "refresh-token-word",
            "conversion_action": f"customers/{CUSTOMER}/conversionActions/7",
            **columns,
        }
    )


def states(site: Site) -> list[str]:
    return list(Conversion.objects.for_site(site).order_by("created_at", "id").values_list("status", flat=True))


def next_turn(site: Site) -> SiteTurn:
    turn = upload_run.next_turn(site, Conversion.objects.for_site(site))
    assert turn
    return turn


def upload_once(site: Site) -> None:
    """Send one batch; the run would go on with what was put back."""
    provider = provider_for(site)
    provider.refresh()
    batch, rows = claim(site, next_turn(site))
    rows = mark_sent(batch, rows)
    settle(batch, rows, upload_run.send(provider, rows))


def probe_and_upload() -> None:
    """Let the probe of every open circuit be due, and upload."""
    Circuit.objects.all().probe_now()
    upload_run.upload_due()


def change_sender(site: Site, sender: SyncMethod) -> None:
    Site.objects.filter(pk=site.pk).update(sync_method=sender)
    site.sync_method = sender


def deny_permission(call: Any) -> None:
    """Refuse a request of the Google Ads API for a fault of the account."""
    call.refuse("PERMISSION_DENIED", {"family": "authorization_error", "name": "USER_PERMISSION_DENIED"})
