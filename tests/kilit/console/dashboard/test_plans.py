"""The first screen among very many finished rows, and five hundred busy sites."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ociqueue.models import Site
from tests.support.crowded_conversions import FILL as FILL_CONVERSIONS
from tests.support.crowded_cutting_jobs import FILL as FILL_JOBS
from tests.support.crowded_pdf_jobs import FILL as FILL_PDFS
from tests.support.dashboard import BOARD
from tests.support.plans import blocks, crowding, explained, walked

# With fewer rows PostgreSQL might well read the whole table, and be right.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SITES = 500
DAYS = 3  # of hours; a month is kept, and the index leaves out all but the last day
FINISHED, WAITING, STUCK = 500_000, 50_000, 5_000
OURS = {"offline_conversion_queue", "pdfjobs_pdfjob", "orchestrator_job", "lock_hourcount", "lock_event"}
ROLLUPS = {"lock_count", "lock_countdelta", "lock_errordelta", "lock_errorgroup"}
# Five hundred sites are asked for their oldest, and 24 hours of each are added up: pages of 8 kB, nearly all in memory.
# PostgreSQL 15 reads 12,600 of them for 30 days, later versions fewer.
MOST_PAGES = 14_000

BY_SITE = FILL_CONVERSIONS.replace("::uuid, %s, status,", "::uuid, sites.ids[1 + n %% 500], status,").replace(
    "FROM generate_series", "FROM (SELECT array_agg(id) AS ids FROM ociqueue_site) AS sites, generate_series"
)
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

# Here the table of events is too small for its index, of which this reads one entry.
NEWEST_EVENT = "(SELECT max(id) FROM lock_event"
PAGES = [
    (BOARD, {"days": "7"}),
    (BOARD, {"days": "30"}),
    ("/admin/ociqueue/conversion/", {}),
    ("/admin/ociqueue/conversion/", {"status": "FAILED"}),
    ("/admin/pdfjobs/pdfjob/", {}),
    ("/admin/orchestrator/job/", {}),
]


@pytest.fixture
def crowded(sql, django_user_model) -> User:
    """Very many finished rows, a backlog, and sites with days of hours, inserted with the guards off."""
    admin = django_user_model.objects.create_superuser("root")
    for number in range(SITES):
        Site.objects.create(name=f"site {number}", default_currency="TRY")
    with crowding(*OURS, *ROLLUPS):  # read from end to end, dead rows of other tests too
        sql(BY_SITE, 1, FINISHED, "COMPLETED", 1, "", "")
        sql(BY_SITE, FINISHED + 1, FINISHED + WAITING, "QUEUED", 0, "", "")
        sql(BY_SITE, FINISHED + WAITING + 1, FINISHED + WAITING + STUCK, "PROCESSING", 1, "", "")
        sql(FILL_PDFS, admin.pk, 1, 50_000, "expired")
        sql(FILL_PDFS, admin.pk, 50_001, 51_000, "queued")
        sql(FILL_JOBS, 1, 50_000, "DONE")
        sql(FILL_JOBS, 50_001, 50_050, "NEW")
        sql(FILL_HOURS, DAYS * 24)
        sql(FILL_GROUPS)
    sql("ANALYZE ociqueue_site, sites_tenant")
    return admin


def asked_by(client: Client, address: str = BOARD, **values: str) -> list[str]:
    """Return the statements that the first screen runs, or another page."""
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address, values).status_code == 200
    return [query["sql"] for query in captured if query["sql"].split()[0] in ("SELECT", "WITH")]


def test_nothing_walks_the_finished_rows(crowded: User, make_person) -> None:
    """The first screen, charts of days, tabs and codes of lists: one test, because the rows take long to make."""
    sees_all = Client()
    sees_all.force_login(crowded)
    sites = tuple(Site.objects.all())
    few = make_person("can", sites=sites[:2])
    many = make_person("ayse", sites=sites[: SITES // 2])

    for client in (sees_all, many):
        asked = asked_by(client)
        assert len(asked) < 72
        for table in OURS - {"lock_event"}:
            assert any(table in statement for statement in asked), table
    of_sites = [("/admin/ociqueue/site/", {}), (f"/admin/ociqueue/site/{sites[0].pk}/change/", {})]
    for address, values in [(BOARD, {}), *PAGES, *of_sites]:
        for client in (sees_all, few, many):
            for statement in asked_by(client, address, **values):
                plan = explained(statement)
                assert NEWEST_EVENT in statement or walked(plan, *OURS) == [], (address, values, statement)
                assert blocks(plan) < MOST_PAGES, (address, values, blocks(plan), statement)
    assert walked(explained("SELECT count(*) FROM orchestrator_job WHERE error_message = 'x'"), *OURS) != []
