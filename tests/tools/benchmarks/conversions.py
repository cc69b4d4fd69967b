"""Conversions to measure with: a site, rows in bulk through the table's own triggers, and a bare copy of the table."""

from django.db import connection

from ociqueue.models import Site

BARE = "bare_conversion"
BARE_KEYS = "bare_conversionkey"
# What the rows of both sides hold; ids grow with time, as the product's do.
ROWS = """
    INSERT INTO {table} (id, site_id, status, action, gclid, wbraid, gbraid, conversion_time, value, currency, order_id,
      consent, source_key, attempt_count, attempts_forgiven, last_error, provider_error_code, provider_error_category,
      provider_request_id, claimed_at, created_at, updated_at)
    SELECT
      (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || substr(seed, 1, 3) || '8'
        || substr(seed, 4, 15))::uuid,
      %(site)s, %(status)s, 'Satış', 'Cj0KCQ' || seed || seed, '', '', now() - interval '1 day', 120, 'TRY',
      'oci_' || substr(seed || seed, 1, 40), 'UNSPECIFIED', 'order-' || seed, %(attempts)s, 0, '', '', '', '',
      %(claimed_at)s, now() - interval '1 hour', now() - interval '1 hour'
    FROM (SELECT md5(random()::text || number) AS seed FROM generate_series(1, %(count)s) AS number) AS seeds
"""
CLAIM_RETURNING = f"""
    WITH picked AS MATERIALIZED (
      SELECT id FROM {BARE}
      WHERE site_id = %s AND status IN ('QUEUED', 'RETRY') AND (next_retry_at IS NULL OR next_retry_at <= now())
      ORDER BY created_at, id LIMIT %s FOR UPDATE SKIP LOCKED
    )
    UPDATE {BARE} SET status = 'PROCESSING', claimed_at = now(), attempt_count = attempt_count + 1, updated_at = now()
    WHERE id = ANY(ARRAY(SELECT id FROM picked))
    RETURNING
"""


def fill(table: str, site: Site, count: int, *, status: str = "QUEUED", attempts: int = 0) -> None:
    """Store rows; in the product's table its triggers write their events and counts."""
    asked = {"site": site.pk, "status": status, "count": count, "attempts": attempts, "claimed_at": None}
    with connection.cursor() as cursor:
        cursor.execute(ROWS.format(table=table), asked)


def make_bare_table() -> None:
    """Copy the table and that of its keys with their indexes and constraints, without their triggers."""
    with connection.cursor() as cursor:
        for copy, table in {BARE: "offline_conversion_queue", BARE_KEYS: "ociqueue_conversionkey"}.items():
            cursor.execute(f"DROP TABLE IF EXISTS {copy}")
            cursor.execute(f"CREATE TABLE {copy} (LIKE {table} INCLUDING ALL)")
