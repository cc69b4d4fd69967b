"""Claims and sweeps in a long queue: they read the beginning of it, whatever the planner knows."""

import pytest
from django.contrib.auth.models import User

from kilit.lock.identity import uuid7
from ociqueue.models import Conversion, Credentials
from ociqueue.models.statements import claim_values
from ociqueue.uploader.upload_run import due_sites
from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.crowds import (
    CONVERSIONS,
    CUTTING_JOBS,
    FILL_CONVERSIONS,
    FILL_CUTTING_JOBS,
    FILL_PDFS,
    PDFS,
    new_site,
)
from tests.support.pdf_jobs import some_user
from tests.support.plans import blocks, crowding, explained, plans, rows_read, run_sql, statements

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

BURST = 20_000
WAITING = 100_000
# Or the planner goes by another test's rows, and reads its dead ones.
SITES = ("sites_tenant", "ociqueue_site", "ociqueue_credentials", "ociqueue_circuit")


def claims(site):
    return lambda: claim_values(site, "id", limit=10), lambda: Conversion.objects.for_site(site).claim(limit=10)


@pytest.mark.parametrize(
    ("table", "fill", "model", "state", "name"),
    [(PDFS, FILL_PDFS, PdfJob, "queued", "job_key"), (CUTTING_JOBS, FILL_CUTTING_JOBS, Job, "NEW", "order_id")],
)
def test_a_claim_reads_the_beginning_of_a_long_queue(table, fill, model, state, name) -> None:
    """In the order of turns an index gives the first; a sort would read them all."""
    owner = [some_user().pk] if model is PdfJob else []
    with crowding(table):
        run_sql(fill, *owner, 1, 20_000, state)
        run_sql(f"UPDATE {table} SET priority = (ARRAY[-1, 0, 1, 24])[1 + mod(abs(hashtext({name})), 4)]")

    (statement,) = statements(model.objects.claim, over=(table,))

    assert blocks(explained(statement)) < 200


def test_a_claim_reads_a_few_pages_for_each_owner_with_waiting_jobs() -> None:
    owners = User.objects.bulk_create(User(username=f"owner-{number}") for number in range(100))
    with crowding(PDFS):
        for number, owner in enumerate(owners):
            run_sql(FILL_PDFS, owner.pk, number * 300, number * 300 + 299, "queued")

    (statement,) = statements(lambda: PdfJob.objects.claim(served=[owner.pk for owner in owners]), over=(PDFS,))

    assert blocks(explained(statement)) < 2_000


def test_rows_that_wait_for_their_time_cost_a_claim_nothing() -> None:
    """The bell asks every second; hundreds of thousands of deferred rows must not be read each time."""
    with crowding(*SITES, CONVERSIONS):
        site = new_site(sync_method="api")
        Credentials.objects.create(site=site, encrypted="x")
        run_sql(FILL_CONVERSIONS, site.pk, 1, WAITING, "RETRY", 1, "", "")

    for query in (lambda: due_sites().exists(), lambda: site.conversions.claim(limit=1000, batch=uuid7())):
        for statement in statements(query, over=(CONVERSIONS,)):
            assert blocks(explained(statement)) < WAITING / 1000


def test_a_sweep_of_what_is_not_sent_does_not_read_what_waits() -> None:
    """A backlog waits; a few of its rows were denied or retracted, came late, or have waited for months."""
    kinds = {
        "denied": "consent = 'DENIED'",
        "late": "conversion_time = now() - interval '91 days'",
        "old": "conversion_time = now() - interval '91 days', created_at = now() - interval '90 days'",
        "retracted": "is_retracted = true",
    }
    with crowding(*SITES, CONVERSIONS):
        run_sql(FILL_CONVERSIONS, new_site().pk, 1, BURST, "QUEUED", 0, "", "")
        for number, columns in enumerate(kinds.values(), start=1):
            run_sql(f"UPDATE {CONVERSIONS} SET {columns} WHERE order_id = %s", str(number))

    sweeps = (Conversion.objects.sweep_withheld, Conversion.objects.expire, Conversion.objects.sweep_retracted)
    for sweep in sweeps:
        ran = statements(sweep, over=(CONVERSIONS,))
        assert ran
        for statement in ran:
            assert blocks(explained(statement)) < BURST / 100, statement  # rows that a filter removes count, too
    assert [sweep() for sweep in sweeps] == [1, 2, 1]


@pytest.mark.parametrize(
    "known", [None, 500, *(pytest.param(known, marks=pytest.mark.nightly) for known in (0, 100, 2_000, BURST))]
)
def test_a_claim_reads_only_its_rows_whatever_the_planner_knows_of_the_site(known: int | None) -> None:
    """Statistics are of the time before a burst came in: nothing of the site, its last burst, or some of this one."""
    with crowding(*SITES, CONVERSIONS):
        site = new_site()
        finished, queued = (new_site(), 10) if known is None else (site, known)
        run_sql(FILL_CONVERSIONS, finished.pk, 1, 100_000, "COMPLETED", 1, "", "")
        run_sql(FILL_CONVERSIONS, finished.pk, 100_001, 100_000 + queued, "QUEUED", 0, "", "")
    run_sql(FILL_CONVERSIONS, site.pk, 200_001, 200_000 + BURST, "QUEUED", 0, "", "")

    for claim in claims(site):
        (plan,) = plans(claim, over=CONVERSIONS)
        assert rows_read(plan, CONVERSIONS) < BURST / 100


def test_a_claim_does_not_read_rows_whose_time_has_not_come() -> None:
    with crowding(*SITES, CONVERSIONS):
        site = new_site()
        run_sql(FILL_CONVERSIONS, site.pk, 1, WAITING, "RETRY", 1, "", "")
        run_sql(FILL_CONVERSIONS, site.pk, WAITING + 1, WAITING + 10, "QUEUED", 0, "", "")

    for claim in claims(site):
        (plan,) = plans(claim, over=CONVERSIONS)
        assert blocks(plan) < WAITING / 100  # rows that a filter removes count, too
