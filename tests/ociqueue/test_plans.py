"""Query plans: what runs all day never walks finished rows, however many there are."""

import pytest
from django.db import connection

from ociqueue.admin.listing import search
from ociqueue.models import Conversion
from ociqueue.models.queryset import OLDEST_FIRST

pytestmark = pytest.mark.django_db

FINISHED = 60_000

FILL = """
    INSERT INTO offline_conversion_queue (id, site_id, status, action, gclid, wbraid, gbraid, conversion_time, value,
      currency, order_id, consent, attempt_count, attempts_forgiven, claimed_at, last_error, provider_error_code,
      provider_error_category, provider_request_id)
    SELECT gen_random_uuid(), %s, wanted, 'a', 'c' || n, '', '', now(), 1, 'TRY', n, 'UNSPECIFIED', 1, 0,
      CASE WHEN wanted <> 'QUEUED' THEN now() END, '', CASE WHEN wanted = 'FAILED' THEN 'E' ELSE '' END, '', ''
    FROM (SELECT %s AS wanted) AS one, generate_series(1, %s) n
"""


@pytest.fixture
def crowded(site, sql):
    """A site with many finished rows and a few of each live kind, as vacuum leaves them: born so, guards off."""
    sql("SET LOCAL session_replication_role = replica")
    for status, rows in {"COMPLETED": FINISHED, "FAILED": 300, "PROCESSING": 300, "QUEUED": 5000}.items():
        sql(FILL, site.pk, status, rows)
    sql("SET LOCAL session_replication_role = DEFAULT")
    sql("ANALYZE offline_conversion_queue")
    return site


@pytest.mark.parametrize(
    ("question", "index"),
    [
        (lambda site: Conversion.objects.for_site(site).due().order_by(*OLDEST_FIRST)[:50], "conversion_due"),
        (lambda _: Conversion.objects.stuck().order_by("claimed_at", "id")[:1000], "conversion_claimed"),
        (lambda _: Conversion.objects.spent().order_by("attempt_count", "id")[:1000], "conversion_attempts"),
        (lambda _: Conversion.objects.passing_failures()[:1000], "conversion_passing_failures"),
        (lambda site: Conversion.objects.for_site(site).order_by("-id")[:50], "conversion_of_site"),
        (lambda _: search(Conversion.objects.all(), "c7"), "conversion_by_click_id"),
        (lambda _: search(Conversion.objects.all(), "c7"), "conversion_by_order_id"),
        (
            lambda site: Conversion.objects.for_site(site).filter(status="FAILED").order_by("-id")[:50],
            "conversion_of_site_in_status",
        ),
    ],
)
def test_a_question_is_answered_by_its_index(crowded, question, index: str) -> None:
    told = question(crowded).explain()

    assert index in told
    assert "Seq Scan on offline_conversion_queue" not in told


def test_a_claim_touches_a_few_pages_whatever_is_finished(crowded) -> None:
    with connection.cursor() as cursor:
        query = Conversion.objects.for_site(crowded).due().order_by(*OLDEST_FIRST)[:50]
        sql, params = query.query.sql_with_params()
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
        ((told,),) = cursor.fetchall()

    root = told[0]["Plan"]
    assert root["Shared Hit Blocks"] + root["Shared Read Blocks"] < 500


def test_stats_ask_a_bounded_number_of_questions(crowded, make_person, django_assert_max_num_queries) -> None:
    client = make_person(sites={crowded: "viewer"})

    with django_assert_max_num_queries(12):
        answer = client.get("/api/oci/queue-stats", {"siteId": crowded.public_id})

    assert answer.status_code == 200
