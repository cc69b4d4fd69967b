"""Uploading to a Google Ads server on loopback: the whole run, against bare SQL around the bare official client."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection

from ociqueue.models import Conversion, Credentials, Site
from ociqueue.states import SyncMethod
from ociqueue.uploader.googleads.provider import GoogleAds
from ociqueue.uploader.upload_run import MOST_ROWS, due_sites, upload_due
from tests.support.uploads import account
from tests.tools.benchmarks.conversions import BARE, CLAIM_RETURNING, fill, make_bare_table
from tests.tools.benchmarks.harness import Figure
from tests.tools.benchmarks.servers import Simulator

ROWS = 3 * MOST_ROWS

CLAIM = f"{CLAIM_RETURNING} id, gclid, conversion_time, value, currency, order_id"
SETTLE = f"""
    UPDATE {BARE} SET status = 'COMPLETED', updated_at = now(), uploaded_at = now(), provider_request_id = %s,
      last_error = '', provider_error_code = '', provider_error_category = ''
    WHERE site_id = %s AND status = 'PROCESSING' AND id = ANY(%s)
"""


class Bench:
    """What the sides share while they run."""

    site: Site
    google: Simulator
    bare: "psycopg.Connection[tuple[Any, ...]]"
    client: GoogleAds


@contextmanager
def api_site() -> Iterator[None]:
    """Make a site that sends through the API, and the bare side's client with the same login."""
    make_bare_table()
    Bench.site = Site.objects.create(name="Upload", default_currency="TRY", sync_method=SyncMethod.API)
    params = connection.get_connection_params()
    address = {name: params[name] for name in ("host", "port", "user", "dbname") if params.get(name)}
    with Simulator("google") as Bench.google, psycopg.connect(**address, autocommit=True) as Bench.bare:
        os.environ.update(Bench.google.addresses)
        settings.GOOGLE_ADS_ENDPOINT = Bench.google.addresses["KILIT_GOOGLE_ADS_ENDPOINT"]
        Credentials.objects.store(Bench.site, account())
        Bench.client = GoogleAds(account())
        Bench.client.refresh()
        yield


def upload() -> float:
    """Upload what is due, as a worker does."""
    Bench.google.forget()
    fill(Conversion._meta.db_table, Bench.site, ROWS)
    start = time.perf_counter()
    tally = upload_due(sites=due_sites().filter(pk=Bench.site.pk))
    taken = time.perf_counter() - start
    assert tally.accepted == ROWS, str(tally)
    return ROWS / taken


def bare() -> float:
    """Claim, send and settle with nothing around it."""
    Bench.google.forget()
    fill(BARE, Bench.site, ROWS)
    service = Bench.client.service
    done = 0
    start = time.perf_counter()
    while claimed := Bench.bare.execute(CLAIM, [Bench.site.pk, MOST_ROWS]).fetchall():
        request = Bench.client.client.get_type("UploadClickConversionsRequest")
        request.customer_id = Bench.client.account.customer_id
        request.partial_failure = True
        for _, gclid, at, value, currency, order_id in claimed:
            conversion = request.conversions.add()
            conversion.gclid = gclid
            conversion.conversion_action = Bench.client.account.conversion_action
            conversion.conversion_date_time = at.astimezone(UTC).isoformat(" ", "seconds")
            conversion.conversion_value = float(value)
            conversion.currency_code = currency
            conversion.order_id = order_id
        answer = service.upload_click_conversions(request=request)
        assert len(answer.results) == len(claimed)
        settled = Bench.bare.execute(SETTLE, ["request", Bench.site.pk, [row[0] for row in claimed]])
        done += settled.rowcount
    taken = time.perf_counter() - start
    assert done == ROWS, f"uploaded {done} of {ROWS}"
    return ROWS / taken


FIGURES = [
    Figure(
        "upload",
        "rows/s",
        upload,
        bare,
        against="bare SQL claim, bare official client, bare SQL settle, in batches of 2,000",
        at_least=0.65,
        on=api_site,
    )
]
