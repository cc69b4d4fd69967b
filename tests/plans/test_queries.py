"""What runs all day, among very many finished rows: no statement walks them, and none reads more than it needs."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from kilit.api.cursor import decode_cursor
from kilit.batches.models import BulkAction
from kilit.batches.queues import queues
from kilit.batches.run import count_matching, plan, record_rows, run_batch
from kilit.csv.reader import CsvLine
from kilit.workers.doorbells import doorbells
from ociqueue.files.exports import read_batches
from ociqueue.files.keys import LineKeys
from ociqueue.intake.adjustments import find_originals
from ociqueue.intake.enqueue import known_ids
from ociqueue.models import Adjustment, Conversion, IdentifierKind, ImportJob, Site
from ociqueue.models.import_job import LineIndex
from ociqueue.models.statements import ack_ids
from ociqueue.operating import erasure, presenters
from ociqueue.operating.erasure import Person
from ociqueue.operating.filters import ADJUSTMENT_FILTERS, FILTERS
from ociqueue.operating.lookups import look_up
from ociqueue.operating.metrics import oldest_waiting
from ociqueue.operating.operations import RETRY
from ociqueue.operating.senders import unsettled_rows
from ociqueue.reconcile.run import OurDays
from ociqueue.schemas.adjustments import NewAdjustment
from ociqueue.schemas.lookups import Lookup
from orchestrator import metrics as cutting_metrics
from orchestrator.api.jobs import JobsView, listed_jobs, present_job
from orchestrator.filters import FILTERS as CUTTING_FILTERS
from orchestrator.models import Job
from orchestrator.saw.saw_handover import release_lapsed
from orchestrator.schemas.jobs import CuttingJobsQuery
from orchestrator.states import JobState
from orchestrator.workflow.runner import due_rows
from outbox import metrics as outbox_metrics
from outbox import sending, sweeps
from outbox.api.presenters import message_page
from outbox.replaying import Replay, Span
from outbox.schemas import MessagesQuery
from pdfjobs import cleanup, enqueue, work
from pdfjobs import metrics as pdf_metrics
from pdfjobs.models import PdfJob
from pdfjobs.operations import FILTERS as PDF_FILTERS
from tests.support.bulk_actions import user_of
from tests.support.crowds import (
    CONVERSIONS,
    CUTTING_JOBS,
    KEYS,
    MESSAGES,
    PDFS,
    crowd_conversions,
    crowd_cutting_jobs,
    crowd_messages,
    crowd_pdfs,
)
from tests.support.pdf_jobs import new_job, some_user
from tests.support.plans import Bound, explained, statements, walked

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

BATCH = 1000
DAY = timedelta(days=1)
NOW = timezone.now()
LONG_AGO = datetime(1970, 1, 2, tzinfo=UTC)
# Pages for each row that moves, with its index entries, event and counts: 19 to 29 were measured.
PAGES_PER_MOVE = 40
# The table has 22,700 pages. Half as much again as was measured, or a little more.
CONVERSION_BOUND = Bound((CONVERSIONS, KEYS), most=300, most_of_update=BATCH * PAGES_PER_MOVE)
MOST_OF_CONVERSIONS = {
    # Before PostgreSQL 17, each key of a list is looked up by itself.
    "keys of CSV lines": 6 * BATCH,
    "keys of a request": 6 * BATCH,
    "adjusted rows": 6 * BATCH,
    "adjusted rows by key": 6 * BATCH,
    "lookups by source key": 6 * BATCH,
    "lookups by order": 6 * BATCH,
    "lookups by id": 6 * BATCH,
    "one lookup": 150,  # few of its own, and up to a megabyte of dead upload batches that other tests have left
    "recover": 2 * BATCH,
    "cap": 3 * BATCH,
}
# A walk ends early where nearly all rows are wanted anyway. Half as much again as was measured, or a little more.
BULK_BOUND = Bound((CONVERSIONS,), most=6_000, walk=2_000)
# Two hundred rows touched at most, each with its index entries, event and counts.
PDF_BOUND = Bound((PDFS,), most=20_000, walk=100)
CUTTING_BOUND = Bound((CUTTING_JOBS,), most=1_000_000, walk=100)
MESSAGE_BOUND = Bound((MESSAGES,), most=100)


def adjusted(**names: str) -> NewAdjustment:
    return NewAdjustment.model_construct(
        **{"id": None, "orderId": None, "sourceKey": None, "conversionSourceKey": None} | names
    )


def conversion_queries(site: Site) -> dict[str, Callable[[], Any]]:
    rows = Conversion.objects.for_site(site)
    claimed = list(rows.filter(status="PROCESSING").values_list("pk", flat=True)[:BATCH])
    last = rows.order_by("-id").values_list("pk", flat=True)[500]
    cursor = decode_cursor(presenters.rows_page(site, limit=1, status=None, cursor=None)["nextCursor"])
    lines = [CsvLine(n, {"conversionName": "a", "gclid": f"c{n * 900}", "conversionTime": "now"}) for n in range(BATCH)]
    ids = range(1, 900_000, 900)
    return {
        "keys of CSV lines": lambda: LineKeys(site, LineIndex(ImportJob(site=site))).find(lines),
        "the oldest, for metrics": lambda: oldest_waiting(Conversion),
        "export": lambda: rows.claim(limit=BATCH),
        "ack": lambda: ack_ids(site, set(claimed), dict.fromkeys(claimed, 1)),
        "ack-failed": lambda: rows.filter(pk__in=claimed).ack_failed(code="E", category="AUTH", message="no"),
        "recover": Conversion.objects.recover,
        "cap": Conversion.objects.cap,
        "requeue": Conversion.objects.requeue_transient,
        "withhold": Conversion.objects.sweep_withheld,
        "expire": Conversion.objects.expire,
        "end what was retracted": Conversion.objects.sweep_retracted,
        "unknown outcomes": lambda: unsettled_rows(site),
        "rows": lambda: presenters.rows_page(site, limit=200, status=None, cursor=cursor),
        "rows by state": lambda: presenters.rows_page(site, limit=200, status="FAILED", cursor=None),
        "stats": lambda: presenters.stats(site),
        "search": lambda: FILTERS.search.first(rows, "c500000"),
        "search at all sites": lambda: FILTERS.search.first(Conversion.objects.all(), "k50000"),
        "search for a bulk action": lambda: list(FILTERS.search(rows, "c50000").order_by("pk")[:BATCH]),
        "search for adjustments": lambda: list(
            ADJUSTMENT_FILTERS.search.first(Adjustment.objects.all(), "k500000").ids
        ),
        "keys of a request": lambda: known_ids(site, [{"id": n, "action": "a", "source_key": f"k{n}"} for n in ids]),
        "adjusted rows": lambda: find_originals(site, [adjusted(orderId=str(n)) for n in ids]),
        "adjusted rows by key": lambda: find_originals(site, [adjusted(sourceKey=f"k{n}") for n in ids]),
        "a person's rows": lambda: erasure.find(Person(IdentifierKind.CLICK_ID, "c500000"), [site]),
        "a person's rows by order": lambda: erasure.find(Person(IdentifierKind.ORDER_ID, "500000"), [site]),
        "a person's rows by e-mail": lambda: erasure.find(Person(IdentifierKind.EMAIL, "a@b.co"), [site]),
        "history": lambda: next(read_batches(site, start=LONG_AGO, end=timezone.now() + DAY)),
        "lookups by source key": lambda: look_up(site, [Lookup(sourceKey=f"k{n}") for n in ids]),
        "lookups by order": lambda: look_up(site, [Lookup(orderId=str(n)) for n in ids]),
        "lookups by id": lambda: look_up(site, [Lookup(id=pk) for pk in claimed]),
        "one lookup": lambda: look_up(site, [Lookup(sourceKey="k500000")]),
        "one row": lambda: list(rows.filter(pk=last)),
        "read-back": lambda: OurDays(site, zone=site.zone, read_at=timezone.now()).counts(str),
    }


def test_nothing_walks_the_finished_conversions(make_person, make_site, sql) -> None:
    """One test, because a million rows take long to store; each check takes back what it did."""
    site = crowd_conversions()

    CONVERSION_BOUND.check_queries(conversion_queries(site), MOST_OF_CONVERSIONS)

    assert walked(explained(f"SELECT id FROM {CONVERSIONS} WHERE last_error = 'x'"), CONVERSIONS) != []
    user = user_of(make_person(sites=dict.fromkeys([site, *(make_site() for _ in range(3))], "operator")))
    ((pages,),) = sql(f"SELECT relpages FROM pg_class WHERE relname = '{CONVERSIONS}'")
    assert pages > 10 * BULK_BOUND.walk
    # By state, by error, and by site alone, which a million finished rows match too.
    for filters in (
        {"status": "FAILED"},
        {"code": "UPLOAD_EXCEPTION"},
        {"site": f"{site.pk}"},
        {"category": "TRANSIENT"},
    ):
        check_bulk_action(filters, user)


def check_bulk_action(filters: dict[str, str], user: User) -> None:
    plan(queue="conversion", action="retry", user=user, filters=filters, filters_text="", reason="x", options={})
    action = BulkAction.objects.claim()
    assert action
    for statement in statements(
        partial(count_matching, queues["conversion"], RETRY, user, filters), over=(CONVERSIONS,)
    ):
        BULK_BOUND.check(filters, statement)
    for statement in statements(partial(record_rows, action), over=(CONVERSIONS,)):
        BULK_BOUND.check(filters, statement, most=110_000 if "INSERT" in statement else 0)
    action.refresh_from_db()
    record_rows(action)
    assert action.total == (6_000 if {"code", "category"} & set(filters) else 11_000)
    BulkAction.objects.filter(pk=action.pk).start(count=action.eligible)
    running = BulkAction.objects.claim()
    assert running
    for statement in statements(partial(run_batch, running), over=(CONVERSIONS,)):
        BULK_BOUND.check(filters, statement, most=RETRY.batch * PAGES_PER_MOVE)
    BulkAction.objects.filter(pk=action.pk).cancel()


def cutting_page(query: CuttingJobsQuery) -> object:
    return JobsView.page("jobs", listed_jobs(query), query, present_job)


def own_pdfs(owner: int, *, status: str | None = None, after: Any = None, before: Any = None) -> list[PdfJob]:
    rows = PdfJob.objects.listed_for(User(pk=owner), status=status)
    return list(rows.created_between(after, before)[:51])


def owner_of_the_oldest() -> int:
    """Return a user who owns one job, the last to be found when the table is walked from its newest row."""
    user = some_user("rare")
    job = new_job(user, pk=UUID(int=0))
    assert job == PdfJob.objects.order_by("id").first()
    return user.pk


def test_nothing_walks_the_finished_pdf_jobs(monkeypatch) -> None:
    monkeypatch.setattr(cleanup.artifacts, "delete", lambda _: None)
    owner = crowd_pdfs()
    rare = owner_of_the_oldest()
    rows = PdfJob.objects.order_by("-id")

    PDF_BOUND.check_queries(
        {
            "is due": doorbells[work.BELL].is_due,
            "the oldest, for metrics": pdf_metrics.oldest_queued,
            "claim": PdfJob.objects.claim,
            "reap": PdfJob.objects.recover,
            "cleanup": cleanup.clean,
            "look before cleanup": lambda: cleanup.preview(ttl=timedelta(hours=24)),
            "depth": lambda: enqueue.read_state(User(pk=owner)),
            "live key": lambda: PdfJob.objects.filter(owner=owner, job_key="k5").live().first(),
            "list": lambda: list(rows[:50]),
            "list of a state": lambda: list(rows.filter(status="failed")[:50]),
            "list of a code": lambda: list(rows.filter(status="failed", error_code="UNKNOWN")[:50]),
            "list of a template": lambda: list(rows.filter(template_name="offer")[:50]),
            "own list": lambda: own_pdfs(owner),
            "own list of a state": lambda: own_pdfs(owner, status="failed"),
            "own list of a state that is rare": lambda: own_pdfs(rare, status="succeeded"),
            "own list of one with few": lambda: own_pdfs(rare),
            "own list of a time": lambda: own_pdfs(owner, status="expired", after=NOW - DAY, before=NOW),
            "search by key": lambda: PDF_FILTERS.search.first(rows, f"{7:064}"),
            "search by number": lambda: PDF_FILTERS.search.first(rows, "n-77"),
            "search by recipient": lambda: PDF_FILTERS.search.first(rows, "ege mob"),
            "search by owner": lambda: PDF_FILTERS.search.first(rows, some_user().username[:3]),
        }
    )

    assert walked(explained(f"SELECT id FROM {PDFS} WHERE error_detail = 'x'"), PDFS) != []


def test_nothing_walks_the_finished_cutting_jobs() -> None:
    crowd_cutting_jobs()
    jobs = Job.objects.all()
    warning = {"warning": "W_PART_EXCEEDS_PLATE"}

    CUTTING_BOUND.check_queries(
        {
            "the oldest, for metrics": cutting_metrics.oldest_due,
            "who waits for OptiPlanning and the saw, for metrics": cutting_metrics.waiting_since,
            "share on HOLD, for metrics": cutting_metrics.held_share,
            "claim": Job.objects.claim,
            "claim of the workers": lambda: Job.objects.quick().claim(),
            "is anything due": lambda: [rows.exists() for rows in due_rows()],
            "wake the next": Job.objects.wake_next,
            "release lapsed": release_lapsed,
            "list": lambda: cutting_page(CuttingJobsQuery()),
            "list of a state": lambda: cutting_page(CuttingJobsQuery(state=JobState.HOLD)),
            "list of an order": lambda: cutting_page(CuttingJobsQuery(order_id="S-7")),
            "list of a warning": lambda: list(
                CUTTING_FILTERS.apply(jobs, warning).order_by(*CUTTING_FILTERS.ordering(warning), "-id")[:3]
            ),
            **{
                f"search for {text}": partial(CUTTING_FILTERS.search.first, jobs, text)
                for text in ("s-77", "0532 99", "0555 12", "ege")  # an order, a phone, one that all have, a customer
            },
        }
    )


def test_nothing_walks_the_messages() -> None:
    endpoint, off = crowd_messages()

    def listed(endpoints: Any = None, **query: str) -> Callable[[], Any]:
        return lambda: message_page(MessagesQuery.read(query), endpoints)

    MESSAGE_BOUND.check_queries(
        {
            "is due": doorbells[sending.BELL].is_due,
            "claim": lambda: sending.claim(endpoint, limit=50),
            "sweep": sweeps.recover,
            "metrics": outbox_metrics.oldest_due,
            "replay": lambda: Replay(endpoint, Span(LONG_AGO, LONG_AGO + DAY)).run(),
            "list": listed(),
            "list of a state": listed(status="FAILED"),
            "list of a kind": listed(kind="site.paused"),
            "list of an endpoint": listed(endpoint=str(off.pk)),
            "list of an endpoint's failures": listed(endpoint=str(off.pk), status="FAILED"),
            "list of a site": listed(["small"]),
        }
    )
