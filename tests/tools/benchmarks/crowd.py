"""A database with a past: so many finished conversions, with their events and counts, as a year would leave them."""

from django.db import connections

from ociqueue.models import Site
from tests.support.plans import indexes_at_the_end

CHUNK = 1_000_000
DAYS = 365

ROWS = """
    INSERT INTO offline_conversion_queue (id, site_id, status, action, gclid, wbraid, gbraid, conversion_time, value,
      currency, order_id, consent, source_key, attempt_count, attempts_forgiven, last_error, provider_error_code,
      provider_error_category, provider_request_id, claimed_at, created_at, updated_at)
    SELECT
      (lpad(to_hex((extract(epoch FROM born) * 1000)::bigint), 12, '0') || '7' || substr(seed, 1, 3) || '8'
        || substr(seed, 4, 15))::uuid,
      %(site)s, CASE WHEN failed THEN 'FAILED' ELSE 'COMPLETED' END, 'Satış', 'Cj0KCQ' || seed || seed, '', '', born,
      120, 'TRY', 'oci_' || substr(seed || seed, 1, 40), 'UNSPECIFIED', 'order-' || seed, 1, 0,
      CASE WHEN failed THEN 'the click id is too old' ELSE '' END, CASE WHEN failed THEN 'EXPIRED_EVENT' ELSE '' END,
      CASE WHEN failed THEN 'PERMANENT' ELSE '' END, '', born + interval '1 hour', born, born + interval '2 hours'
    FROM (
      SELECT md5(number::text || random()) AS seed, number %% 50 = 0 AS failed,
        now() - interval '1 day' - (%(total)s - number) * (interval '1 day' * %(days)s / %(total)s) AS born
      FROM generate_series(%(first)s, %(last)s) AS number
    ) AS numbered
"""
KEYS = """
    INSERT INTO ociqueue_conversionkey (id, site_id, action, source_key, order_id, click_id, hashed_email, hashed_phone)
    SELECT id, site_id, action, source_key, order_id, gclid, '', '' FROM offline_conversion_queue
    WHERE site_id = %(site)s
"""
EVENTS = """
    INSERT INTO lock_event
      (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)
    SELECT 'conversion', id, coalesce(kind.type, 'STATE_' || status), kind.was, coalesce(kind.becomes, status),
      'key:site-bench', '', kind.details || CASE WHEN kind.type IS NULL THEN
        jsonb_build_object('verb', CASE status WHEN 'FAILED' THEN 'ack_failed' ELSE 'ack' END) ELSE '{}' END,
      created_at + kind.after
    FROM offline_conversion_queue, (VALUES
      ('JOB_CREATED', '', 'QUEUED', '{"attempt_count": 0}'::jsonb, interval '0'),
      ('STATE_PROCESSING', 'QUEUED', 'PROCESSING', '{"verb": "claim", "attempt_count": 1}', '1 hour'),
      (NULL, 'PROCESSING', NULL, '{"attempt_count": 1}', '2 hours')
    ) AS kind(type, was, becomes, details, after)
    WHERE site_id = %(site)s
"""
COUNTS = """
    INSERT INTO lock_count (queue, scope, state, total, entered, changed_at)
    SELECT 'conversion', %(site)s::text, status, count(*), count(*), now()
    FROM offline_conversion_queue WHERE site_id = %(site)s GROUP BY status
"""
HOURS = """
    INSERT INTO lock_hourcount (queue, scope, state, hour, entered)
    SELECT 'conversion', %(site)s::text, state, date_trunc('hour', now()) - number * interval '1 hour', 300
    FROM generate_series(1, 30 * 24) AS number, (VALUES ('QUEUED'), ('PROCESSING'), ('COMPLETED')) AS entered(state)
"""
CROWDED = ("offline_conversion_queue", "ociqueue_conversionkey", "lock_event")


def crowd(site: Site, total: int, *, using: str = "default") -> None:
    """Store a past, with the guards off and the indexes made at the end: it is only there to be in the way."""
    with connections[using].cursor() as cursor:
        cursor.execute("SET session_replication_role = replica; SET maintenance_work_mem = '512MB'")
        with indexes_at_the_end(cursor, *CROWDED):
            for first in range(1, total + 1, CHUNK):
                last = min(first + CHUNK - 1, total)
                cursor.execute(ROWS, {"site": site.pk, "first": first, "last": last, "total": total, "days": DAYS})
            for statement in (KEYS, EVENTS, COUNTS, HOURS):
                cursor.execute(statement, {"site": site.pk})
        cursor.execute("SET session_replication_role = DEFAULT; RESET maintenance_work_mem")
        # As autovacuum leaves it: a moment of its work in the middle of a round would say nothing about the size.
        for table in (*CROWDED, "lock_hourcount"):
            cursor.execute(f"VACUUM ANALYZE {table}")
        cursor.execute("CHECKPOINT")
