"""Conversions coming in: POST in batches, checked and witnessed, against COPY of the same rows into a bare table."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from kilit.lock.identity import uuid7
from tests.tools.benchmarks.conversions import BARE, BARE_KEYS
from tests.tools.benchmarks.drain import Bench, served
from tests.tools.benchmarks.harness import Figure

ROWS = 10_000
BATCH = 1_000
COLUMNS = (
    "id, site_id, status, action, gclid, wbraid, gbraid, conversion_time, value, currency, order_id, consent,"
    " source_key, attempt_count, attempts_forgiven, last_error, provider_error_code, provider_error_category,"
    " provider_request_id"
)
KEY_COLUMNS = "id, site_id, action, source_key, order_id, click_id, hashed_email, hashed_phone"


@contextmanager
def taking_in() -> Iterator[None]:
    """Serve by itself: what comes in here is nothing to drain."""
    with served():
        yield


def conversions(count: int = ROWS) -> list[dict[str, object]]:
    """Return conversions that nobody has sent before."""
    then = (datetime.now(UTC) - timedelta(days=1)).isoformat(timespec="seconds")
    same = {"conversionName": "Satış", "conversionTime": then, "conversionValue": 120.5, "conversionCurrency": "TRY"}
    names = (secrets.token_hex(16) for _ in range(count))
    return [{**same, "gclid": f"Cj0KCQ{name}{name}", "sourceKey": f"order-{name}"} for name in names]


def post() -> float:
    """Send them in batches, by one client."""
    rows = conversions()
    created = 0
    start = time.perf_counter()
    for first in range(0, ROWS, BATCH):
        body = {"siteId": Bench.site.public_id, "conversions": rows[first : first + BATCH]}
        created += Bench.clients[0].post("/api/oci/conversions", body)["created"]
    taken = time.perf_counter() - start
    assert created == ROWS, f"stored {created} of {ROWS}"
    return ROWS / taken


def copy() -> float:
    """Copy them, written as PostgreSQL reads them before the clock starts."""
    site = str(Bench.site.pk)
    rows, keys = [], []
    for row in conversions():
        sent = (row["gclid"], "", "", row["conversionTime"], row["conversionValue"], "TRY")
        pk, order = uuid7(), "oci_" + secrets.token_hex(20)
        rows.append((pk, site, "QUEUED", "Satış", *sent, order, "UNSPECIFIED", row["sourceKey"], 0, 0, "", "", "", ""))
        keys.append((pk, site, "Satış", row["sourceKey"], order, row["gclid"], "", ""))
    tables = {f"{BARE} ({COLUMNS})": rows, f"{BARE_KEYS} ({KEY_COLUMNS})": keys}
    blocks = {table: "".join("\t".join(map(str, row)) + "\n" for row in lines) for table, lines in tables.items()}
    start = time.perf_counter()
    with Bench.bare.transaction(), Bench.bare.cursor() as cursor:
        for table, block in blocks.items():
            with cursor.copy(f"COPY {table} FROM STDIN") as stream:
                stream.write(block)
    return ROWS / (time.perf_counter() - start)


FIGURES = [
    Figure(
        "oci_enqueue",
        "rows/s",
        post,
        copy,
        against="COPY into bare copies of the two tables with their indexes",
        at_least=0.3,
        on=taking_in,
    )
]
