"""Uploading to a Data Manager server on loopback, to the receipts and to the verdicts, against the same by hand."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import Any
from uuid import UUID, uuid4

import psycopg
import requests
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from ociqueue.models import Conversion, Credentials, Receipt, Site
from ociqueue.models.quota import RequestQuota
from ociqueue.states import SyncMethod
from ociqueue.uploader.upload_run import MOST_ROWS, due_sites, upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts
from tests.support.uploads import CUSTOMER, account
from tests.tools.benchmarks.conversions import BARE, fill, make_bare_table
from tests.tools.benchmarks.harness import Figure
from tests.tools.benchmarks.servers import Simulator
from tests.tools.benchmarks.upload import CLAIM

ROWS = 3 * MOST_ROWS

RECEIVE = f"""
    UPDATE {BARE} SET status = 'UPLOADED', updated_at = now(), open_batch_id = %s, provider_request_id = %s
    WHERE site_id = %s AND status = 'PROCESSING' AND id = ANY(%s)
"""
CONFIRM = f"""
    UPDATE {BARE} SET status = 'COMPLETED', updated_at = now(), uploaded_at = now(), open_batch_id = NULL,
      last_error = '', provider_error_code = '', provider_error_category = ''
    WHERE site_id = %s AND status = 'UPLOADED' AND id = ANY(%s)
"""


class DataManagerBench:
    """What the sides share while they run."""

    site: Site
    server: Simulator
    bare: "psycopg.Connection[tuple[Any, ...]]"
    address: str


@contextmanager
def data_manager_site() -> Iterator[None]:
    make_bare_table()
    DataManagerBench.site = Site.objects.create(
        name="Data Manager", default_currency="TRY", sync_method=SyncMethod.DATA_MANAGER
    )
    params = connection.get_connection_params()
    database = {name: params[name] for name in ("host", "port", "user", "dbname") if params.get(name)}
    with (
        Simulator("datamanager") as DataManagerBench.server,
        psycopg.connect(**database, autocommit=True) as DataManagerBench.bare,
    ):
        address = DataManagerBench.server.addresses["KILIT_DATA_MANAGER_ENDPOINT"]
        DataManagerBench.address = settings.DATA_MANAGER_ENDPOINT = address
        Credentials.objects.store(DataManagerBench.site, account())
        yield


def upload() -> float:
    """Upload what is due, and ask for the verdicts, as a worker does; between the two, half an hour passes."""
    forget()
    site = DataManagerBench.site
    fill(Conversion._meta.db_table, site, ROWS)
    start = time.perf_counter()
    sent = upload_due(sites=due_sites().filter(pk=site.pk))
    taken = time.perf_counter() - start
    assert sent.received == ROWS, str(sent)
    Receipt.objects.open().update(next_check_at=Now())
    start = time.perf_counter()
    verdicts = ask_for_verdicts()
    taken += time.perf_counter() - start
    assert verdicts.confirmed == ROWS, str(verdicts)
    return ROWS / taken


def bare() -> float:
    """Claim, post, settle, ask and settle again, with nothing around it."""
    forget()
    site = DataManagerBench.site
    fill(BARE, site, ROWS)
    execute = DataManagerBench.bare.execute
    session = requests.Session()
    session.headers["Authorization"] = "Bearer a-token.bare"
    taken: list[tuple[str, list[UUID]]] = []
    done = 0
    start = time.perf_counter()
    while claimed := execute(CLAIM, [site.pk, MOST_ROWS]).fetchall():
        body = json.dumps({"destinations": [DESTINATION], "events": [event(*row) for row in claimed]})
        answer = session.post(f"{DataManagerBench.address}/v1/events:ingest", data=body, timeout=60)
        taken.append((answer.json()["requestId"], [row[0] for row in claimed]))
        execute(RECEIVE, [uuid4(), taken[-1][0], site.pk, taken[-1][1]])
    for request_id, ids in taken:
        asked = {"requestId": request_id}
        answer = session.get(f"{DataManagerBench.address}/v1/requestStatus:retrieve", params=asked, timeout=60)
        assert answer.json()["requestStatusPerDestination"][0]["requestStatus"] == "SUCCESS"
        done += execute(CONFIRM, [site.pk, ids]).rowcount
    seconds = time.perf_counter() - start
    assert done == ROWS, f"uploaded {done} of {ROWS}"
    return ROWS / seconds


DESTINATION = {
    "operatingAccount": {"accountType": "GOOGLE_ADS", "accountId": CUSTOMER},
    "productDestinationId": "7",
}


def event(_: UUID, gclid: str, at: Any, value: Any, currency: str, order_id: str) -> dict[str, Any]:
    return {
        "transactionId": order_id,
        "eventTimestamp": at.astimezone(UTC).isoformat("T", "seconds"),
        "adIdentifiers": {"gclid": gclid},
        "conversionValue": float(value),
        "currency": currency,
        "eventSource": "WEB",
    }


def forget() -> None:
    """Empty the server's books, and give back the requests of earlier rounds."""
    RequestQuota.objects.all().delete()
    DataManagerBench.server.forget()


FIGURES = [
    Figure(
        "upload_datamanager",
        "rows/s",
        upload,
        bare,
        against="bare SQL claim, bare `requests` posts, bare SQL settles, in batches of 2,000",
        at_least=0.5,
        on=data_manager_site,
    )
]
