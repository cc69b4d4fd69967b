"""Tables with very many rows, inserted with the guards off, as vacuum would leave them.

With fewer rows PostgreSQL might well read a whole table, and be right.
"""

from typing import Any

from django.contrib.auth.models import User

from ociqueue.models import Site
from outbox.models import Endpoint
from outbox.models.endpoint import OffReason
from tests.support.outbox import make_endpoint
from tests.support.pdf_jobs import some_user
from tests.support.plans import crowding, run_sql

CONVERSIONS, KEYS = "offline_conversion_queue", "ociqueue_conversionkey"
PDFS, CUTTING_JOBS, MESSAGES = "pdfjobs_pdfjob", "orchestrator_job", "outbox_outboxmessage"
ACTIVITY, EVENTS, DENIED = "lock_activity", "lock_event", "access_deniedrequest"
ROLLUPS = ("lock_hourcount", "lock_count", "lock_countdelta", "lock_errordelta", "lock_errorgroup")

FILL_CONVERSIONS = """
    INSERT INTO offline_conversion_queue (id, site_id, status, action, gclid, wbraid, gbraid, conversion_time, value,
      currency, order_id, consent, attempt_count, attempts_forgiven, claimed_at, next_retry_at, last_error,
      provider_error_code, provider_error_category, provider_request_id, source_key)
    SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, %s, status, 'a', 'c' || n, '', '', now(),
      1, 'TRY', n, 'UNSPECIFIED', attempts, 0, CASE WHEN status <> 'QUEUED' THEN now() - interval '1 hour' END,
      CASE WHEN status = 'RETRY' THEN now() + interval '6 hours' END, '', code, category, '', 'k' || n
    FROM generate_series(%s, %s) n, (SELECT %s AS status, %s AS attempts, %s AS code, %s AS category) AS wanted
"""
# As a trigger would write them, were the guards on.
FILL_KEYS = """
    INSERT INTO ociqueue_conversionkey (id, site_id, action, source_key, order_id, click_id, hashed_email, hashed_phone)
    SELECT id, site_id, action, source_key, order_id, gclid || wbraid || gbraid, hashed_email, hashed_phone
    FROM offline_conversion_queue
"""
# (status, attempts, code, category): how many
KINDS_OF_CONVERSIONS = {
    ("COMPLETED", 1, "", ""): 1_000_000,
    ("FAILED", 5, "MAX_ATTEMPTS", "PERMANENT"): 5_000,
    ("FAILED", 5, "UPLOAD_EXCEPTION", "TRANSIENT"): 5_000,  # spent: the sweep must not look at them again and again
    ("FAILED", 1, "UPLOAD_EXCEPTION", "TRANSIENT"): 1_000,
    ("PROCESSING", 1, "", ""): 5_000,
    ("QUEUED", 5, "", ""): 1_000,
    ("QUEUED", 0, "", ""): 5_000,
}
# An outage a while ago: the older half failed, and none of the newer. Some wait for their next attempt.
FILL_OUTAGE = """
    INSERT INTO offline_conversion_queue (id, site_id, status, action, gclid, wbraid, gbraid, conversion_time, value,
      currency, order_id, consent, attempt_count, attempts_forgiven, claimed_at, next_retry_at, last_error,
      provider_error_code, provider_error_category, error_group, provider_request_id, source_key, created_at)
    SELECT (substr(stamp, 1, 8) || '-' || substr(stamp, 9, 4) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
      CASE WHEN n %% 100 = 0 THEN %(small)s ELSE %(large)s END, status, 'a', 'c' || n, '', '', now(), 1, 'TRY', n,
      'UNSPECIFIED', 1, 0, now(), CASE WHEN status = 'RETRY' THEN now() + interval '6 hours' END,
      CASE WHEN code = '' THEN '' ELSE 'No click ' || n END, code, category,
      CASE WHEN code = '' THEN '' ELSE left(md5(code || chr(10) || 'No click #'), 16) END, '', 'k' || n, made
    FROM (
      SELECT n, made, status, code, CASE code WHEN '' THEN '' WHEN 'BUSY' THEN 'TRANSIENT' WHEN 'RARE' THEN 'AUTH'
        ELSE 'VALIDATION' END AS category,
        lpad(to_hex((extract(epoch FROM made) * 1000)::bigint), 12, '0') AS stamp
      FROM (
        SELECT n, now() - (%(rows)s - n) * interval '2.5 seconds' AS made,
          CASE WHEN n %% 120 = 0 THEN 'RETRY' WHEN n <= %(rows)s / 2 THEN 'FAILED' ELSE 'COMPLETED' END AS status,
          CASE WHEN n %% 24000 = 0 THEN 'RARE' WHEN n %% 120 = 0 THEN 'BUSY' WHEN n <= %(rows)s / 2
            THEN 'INVALID' ELSE '' END AS code
        FROM generate_series(1, %(rows)s) n
      ) AS kinds
    ) AS stamped
"""
FILL_PDFS = """
    INSERT INTO pdfjobs_pdfjob (id, owner_id, status, job_key, template_name, document_number, payload, options,
      timeout, artifact_key, artifact_digest, artifact_size, error_code, error_detail, retry_count, queued_at,
      started_at, finished_at, claim_token, lease_until)
    SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, %s, status, 'k' || n, 'invoice',
      'N-' || n, '{}', '{}', '1 minute', CASE WHEN status = 'succeeded' THEN 'pdfs/' || n ELSE '' END, 'd', 1,
      CASE WHEN status = 'failed' THEN 'UNKNOWN' ELSE '' END, '', 0, now() - interval '2 days',
      CASE WHEN status <> 'queued' THEN now() - interval '2 days' END,
      CASE WHEN status NOT IN ('queued', 'running') THEN now() - interval '2 days' END,
      CASE WHEN status = 'running' THEN gen_random_uuid() END,
      CASE WHEN status = 'running' THEN now() - interval '1 day' END
    FROM generate_series(%s, %s) n, (SELECT %s AS status) AS wanted
"""
KINDS_OF_PDFS = {"expired": 200_000, "succeeded": 500, "failed": 500, "running": 100, "queued": 500}
FILL_CUTTING_JOBS = """
    INSERT INTO orchestrator_job (id, status, order_id, customer_phone, customer_snapshot_name, opti_mode, revision,
      payload, payload_hash, part_count, manual_trigger_approved, retry_count, lapse_count, error_code,
      error_message, files, xml_sha256, delivery_names, handed_at, finished_at, imported_at, created_at)
    SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, status, 'S-' || n, '+905551234567', '',
      'C', 0, '{}', n, 1, true, 0, 0, '', '', '[]', 'x', '[]', now(), CASE WHEN status = 'DONE' THEN now() END, now(),
      now() - interval '2 days'
    FROM generate_series(%s, %s) n, (SELECT %s AS status) AS wanted
"""
FILL_MESSAGES = """
    INSERT INTO outbox_outboxmessage (id, endpoint_id, status, kind, scope, url, body, attempt_count, attempts_forgiven,
      next_try_at, error_code, error_message, delivered_at)
    SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n), 19, '0'))::uuid,
      %s, status, 'test', '', '', '{}', 1, 0, now() + interval '1 hour', '', '',
      CASE WHEN status = 'DELIVERED' THEN now() END
    FROM generate_series(%s, %s) n, (SELECT %s AS status) AS wanted
"""
# Every tenth row moved jobs of nine sites at once, and the others are their parts; one person did little, long ago.
FILL_ACTIVITY = """
    INSERT INTO lock_activity
      (kind, actor, person, queue, scope, verb, rows, object_id, message, is_part, created_at)
    SELECT CASE WHEN n %% 1000 = 0 THEN 'key' ELSE 'task' END, 'sweep:oci_recover',
      CASE WHEN n < 100 THEN 'can' WHEN n %% 100 = 0 THEN 'ayse' ELSE '' END,
      CASE WHEN n %% 1000 = 0 THEN '' ELSE 'conversion' END,
      CASE WHEN n %% 10 = 0 THEN '' ELSE sites.ids[n %% 10] END, 'recover', 9, '', 'no result was reported in time',
      n %% 10 > 0, now() - interval '1 minute' * (%s - n)
    FROM (SELECT array_agg(id::text) AS ids FROM ociqueue_site) AS sites, generate_series(1, %s) n
"""
FILL_DENIED = """
    INSERT INTO access_deniedrequest
      (minute, actor, address, method, path, code, detail, times, first_at, last_at)
    SELECT now() - n * interval '1 minute', 'operator:ayse', '10.0.0.1', 'POST', '/admin/ociqueue/conversion/' || n,
      CASE WHEN n %% 2 = 0 THEN 'FORBIDDEN' ELSE 'CSRF' END, 'not yours', 1, now(), now()
    FROM generate_series(1, %s) n
"""
FILL_HOURS = """
    INSERT INTO lock_hourcount (queue, scope, state, hour, entered)
    SELECT 'conversion', site.id, state, date_trunc('hour', now()) - make_interval(hours => ago), 3
    FROM generate_series(%s, 0, -1) AS ago, ociqueue_site AS site,
      unnest(ARRAY['QUEUED', 'RETRY', 'PROCESSING', 'UPLOADED', 'COMPLETED', 'FAILED']) AS state
"""
FILL_GROUPS = """
    INSERT INTO lock_errorgroup
      (queue, scope, error_group, state, total, entered, changed_at, code, shape, first_at, last_at)
    SELECT 'conversion', site.id, n, 'FAILED', 7, 7, now(), 'CODE_' || n %% 7, 'No click #', now(), now()
    FROM generate_series(1, 20) AS n, ociqueue_site AS site
"""
# Conversions of five hundred sites in turn.
FILL_BY_SITE = FILL_CONVERSIONS.replace("::uuid, %s, status,", "::uuid, sites.ids[1 + n %% 500], status,").replace(
    "FROM generate_series", "FROM (SELECT array_agg(id) AS ids FROM ociqueue_site) AS sites, generate_series"
)


def new_site(**columns: Any) -> Site:
    return Site.objects.create(**{"name": "Mobilya", "default_currency": "TRY", **columns})


def crowd_conversions() -> Site:
    """A million finished rows and some of every live kind."""
    site = new_site(requeue_transient=True)
    first = 1
    with crowding(CONVERSIONS, KEYS):
        for (status, attempts, code, category), rows in KINDS_OF_CONVERSIONS.items():
            run_sql(FILL_CONVERSIONS, site.pk, first, first + rows - 1, status, attempts, code, category)
            first += rows
        run_sql(FILL_KEYS)
    return site


def crowd_after_outage() -> tuple[Site, Site]:
    """A million rows over 29 days of a large site and a small one."""
    # The list joins the first two, and would read their dead rows for each of its own.
    with crowding("sites_tenant", "ociqueue_site", "ociqueue_uploadbatch", CONVERSIONS, KEYS):
        large, small = new_site(name="Large"), new_site(name="Small")
        run_sql(FILL_OUTAGE, large=large.pk, small=small.pk, rows=1_000_000)
        run_sql(FILL_KEYS)
    return large, small


def crowd_pdfs() -> int:
    """Many finished jobs and some of every other kind; return their owner."""
    owner = some_user().pk
    first = 1
    with crowding(PDFS):
        for status, rows in KINDS_OF_PDFS.items():
            run_sql(FILL_PDFS, owner, first, first + rows - 1, status)
            first += rows
    return owner


def crowd_cutting_jobs() -> None:
    with crowding(CUTTING_JOBS):
        run_sql(FILL_CUTTING_JOBS, 1, 100_000, "DONE")
        run_sql(FILL_CUTTING_JOBS, 100_001, 100_050, "OPTI_IMPORTED")
        run_sql(FILL_CUTTING_JOBS, 100_051, 100_100, "NEW")


def crowd_messages() -> tuple[Endpoint, Endpoint]:
    """Messages of an endpoint, and of one that is switched off."""
    with crowding("outbox_endpoint", MESSAGES):
        endpoint, off = make_endpoint(), make_endpoint()
        Endpoint.objects.filter(pk=off.pk).switch_off(OffReason.OPERATOR)
        for place, (owner, status) in enumerate([(endpoint, "DELIVERED"), (endpoint, "RETRY"), (off, "RETRY")]):
            run_sql(FILL_MESSAGES, owner.pk, place * 100_000, (place + 1) * 100_000 - 1, status)
    return endpoint, off


def crowd_activity() -> list[Site]:
    sites = [new_site(name=f"site {number}") for number in range(9)]
    with crowding(ACTIVITY):
        run_sql(FILL_ACTIVITY, 400_000, 400_000)
    return sites


def crowd_denied() -> None:
    with crowding(DENIED):
        run_sql(FILL_DENIED, 200_000)


def crowd_dashboard(owner: User) -> list[Site]:
    """Very many finished rows of all queues, a backlog, and five hundred sites with days of hours."""
    for number in range(500):
        new_site(name=f"site {number}")
    with crowding(CONVERSIONS, PDFS, CUTTING_JOBS, EVENTS, *ROLLUPS):  # read from end to end, dead rows too
        run_sql(FILL_BY_SITE, 1, 500_000, "COMPLETED", 1, "", "")
        run_sql(FILL_BY_SITE, 500_001, 550_000, "QUEUED", 0, "", "")
        run_sql(FILL_BY_SITE, 550_001, 555_000, "PROCESSING", 1, "", "")
        run_sql(FILL_PDFS, owner.pk, 1, 50_000, "expired")
        run_sql(FILL_PDFS, owner.pk, 50_001, 51_000, "queued")
        run_sql(FILL_CUTTING_JOBS, 1, 50_000, "DONE")
        run_sql(FILL_CUTTING_JOBS, 50_001, 50_050, "NEW")
        run_sql(FILL_HOURS, 3 * 24)  # a month is kept, and the index leaves out all but the last day
        run_sql(FILL_GROUPS)
    run_sql("ANALYZE ociqueue_site, sites_tenant")
    return list(Site.objects.all())
