"""The operators' first screen."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from kilit.console.dashboard import page as dashboard
from kilit.console.dashboard.page import panels
from kilit.lock.models import Count
from kilit.problems.registry import Problem, find_problems
from kilit.workers import sweeps
from ociqueue.models import Conversion
from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.cutting_jobs import make_job
from tests.support.dashboard import make_conversions, make_site, panel_of, text_of
from tests.support.outbox import make_endpoint
from tests.support.queue_rows import LISTS, rows_of

pytestmark = pytest.mark.django_db

CONVERSIONS, PDF = panel_of("conversion"), panel_of("pdf")


def shown(panel: Any, user: User, *, days: int = 1) -> dashboard.QueueStrip:
    return dashboard.fill_strips([panel], user, now=timezone.now(), days=days)[0]


def found(user: User, kind: str) -> list[Problem]:
    return [problem for problem in find_problems(user) if problem.kind == kind]


def test_webhooks_take_no_place_before_there_is_an_endpoint(admin_client) -> None:
    strip = 'id="message-title"'

    assert strip not in admin_client.get("/admin/").text
    make_endpoint()
    assert strip in admin_client.get("/admin/").text


def test_the_rate_of_failures_is_a_badge_and_no_line(admin_client, admin_user) -> None:
    make_conversions(make_site(), well=20, badly=40)

    html = admin_client.get("/admin/").text

    assert found(admin_user, "failure-rate")
    assert "failed in 24 hours" not in html
    assert "errors 67" in html


@pytest.mark.parametrize("queue", ["conversion", "cutting_job", "message", "pdf"])
def test_each_queue_has_a_strip_with_the_states_that_have_rows(admin_client, queue: str) -> None:
    make_endpoint()
    row = rows_of(queue).waiting()

    html = admin_client.get("/admin/").text

    assert queue in [panel.queue.table.queue for panel in panels()]
    assert re.findall(rf'id="{queue}-(\w+)" href="([^"]+status=[^"]+)"', html) == [
        (row.status, f"{LISTS[queue]}?status={row.status}")
    ]


def test_each_state_leads_to_the_list_of_its_rows(admin_client, admin_user) -> None:
    make_conversions(make_site(), well=2, badly=1, waiting=3)

    states = {state.name: state for state in shown(CONVERSIONS, admin_user).states}

    assert {name: state.rows for name, state in states.items() if state.rows} == {
        "COMPLETED": 2,
        "FAILED": 1,
        "QUEUED": 3,
    }
    assert "2 conversions" in text_of(admin_client, states["COMPLETED"].href)


def test_the_oldest_that_waits_is_named_whichever_site_it_is_of(admin_user) -> None:
    for name, hours in (("young", 1), ("old", 5), ("middle", 3)):
        make_conversions(make_site(name), waiting=1, source_keys=[f"order-{name}"])
        Conversion.objects.filter(site__name=name).update(created_at=Now() - timedelta(hours=hours))

    oldest = shown(CONVERSIONS, admin_user).oldest

    assert oldest is not None
    row = Conversion.objects.get(site__name="old")
    assert (oldest.name, oldest.place) == ("order-old", "old"), "the link names what it opens"
    assert str(row.pk) in oldest.href


def test_the_oldest_pdf_is_named_by_its_number(admin_user) -> None:
    job = PdfJob.objects.create(owner=admin_user, job_key="k", template_name="invoice", document_number="INV-7")

    oldest = shown(PDF, admin_user).oldest

    assert oldest is not None
    assert (oldest.name, oldest.place) == ("INV-7", "invoice")
    assert str(job.pk) in oldest.href


def test_of_a_queue_that_says_nothing_else_the_first_waiting_row_is_the_oldest(admin_user) -> None:
    ended, first, _later = [
        PdfJob.objects.create(owner=admin_user, job_key=key, template_name="invoice", document_number=f"INV-{key}")
        for key in ("1", "2", "3")
    ]
    PdfJob.objects.filter(pk=ended.pk).expire()

    queue = replace(PDF.queue, oldest=None)

    assert queue.oldest_row(admin_user) == (first, first.created_at, "", "")
    PdfJob.objects.all().expire()
    assert queue.oldest_row(admin_user) is None


def test_stuck_is_what_the_recover_sweep_would_take(admin_client, admin_user) -> None:
    make_conversions(make_site(), waiting=6)
    Conversion.objects.claim(limit=5)
    held = Conversion.objects.filter(status="PROCESSING").values_list("pk", flat=True)[:4]
    Conversion.objects.filter(pk__in=list(held)).update(claimed_at=Now() - timedelta(hours=1))

    assert [problem.count for problem in found(admin_user, "stuck")] == [4]
    assert "4 conversions are stuck" in text_of(admin_client)
    assert sweeps.run("oci_recover_processing") == "Recovered 4."
    assert found(admin_user, "stuck") == []


def test_stuck_rows_are_counted_no_further_than_anybody_reads(admin_user, monkeypatch) -> None:
    monkeypatch.setattr("kilit.problems.queues.STUCK_COUNTED", 4)
    make_conversions(make_site(), waiting=6)
    Conversion.objects.claim(limit=6)
    Conversion.objects.update(claimed_at=Now() - timedelta(hours=1))

    assert [problem.count for problem in found(admin_user, "stuck")] == [4]


def test_stuck_pdfs_are_those_whose_worker_is_gone(admin_user, db) -> None:
    PdfJob.objects.create(owner=admin_user, job_key="k", template_name="invoice")
    (job,) = PdfJob.objects.claim()
    assert found(admin_user, "stuck") == []

    PdfJob.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))

    assert [problem.title for problem in found(admin_user, "stuck")] == ["1 PDF job is stuck"]


def test_stuck_cutting_jobs_are_those_that_no_runner_looks_after(admin_user) -> None:
    for number in range(4):
        make_job(order_id=f"S-{number}")
    lapsed = Job.objects.claim()
    held = Job.objects.claim()
    assert lapsed
    assert held
    assert found(admin_user, "stuck") == []

    Job.objects.filter(pk=lapsed.pk).update(lease_until=Now() - timedelta(seconds=1))
    waits = Job.objects.due().values_list("pk", flat=True)[:1]
    Job.objects.filter(pk__in=list(waits)).update(next_run_at=Now() - timedelta(minutes=6))

    assert [problem.count for problem in found(admin_user, "stuck")] == [2]


@pytest.mark.usefixtures("within_the_hour")
def test_a_day_is_shown_by_the_hour_whether_folded_or_not(admin_user) -> None:
    make_conversions(make_site(), well=5, badly=2)
    Count.objects.fold(limit=3)

    chart = shown(CONVERSIONS, admin_user).chart

    assert len(chart.periods) == 24
    assert (chart.periods[-1].well, chart.periods[-1].badly) == (5, 2)
    assert (chart.totals["well"], chart.totals["badly"]) == (5, 2)
    assert (chart.most, len(chart.marks)) == (5, 3)
    Count.objects.fold()
    assert shown(CONVERSIONS, admin_user).chart.periods == chart.periods


@pytest.mark.usefixtures("within_the_hour")
def test_what_ended_before_the_last_24_hours_is_not_shown(admin_user, sql) -> None:
    make_conversions(make_site(), well=3)
    Count.objects.fold()
    sql("UPDATE lock_hourcount SET hour = hour - interval '23 hours'")
    assert shown(CONVERSIONS, admin_user).chart.periods[0].well == 3

    sql("UPDATE lock_hourcount SET hour = hour - interval '1 hour'")

    assert shown(CONVERSIONS, admin_user).chart.totals["well"] == 0


@pytest.mark.usefixtures("within_the_hour")
@pytest.mark.parametrize(("days", "counted"), [(7, 3), (30, 3 + 2)])
def test_days_are_shown_by_the_readers_clock(admin_user, sql, days, counted) -> None:
    make_conversions(make_site(), well=2)
    Count.objects.fold()
    sql("UPDATE lock_hourcount SET hour = hour - interval '10 days'")
    make_conversions(make_site("Ege"), well=3)

    with timezone.override("Pacific/Auckland"):
        chart = shown(CONVERSIONS, admin_user, days=days).chart

    assert (len(chart.periods), chart.totals["well"], chart.periods[-1].well) == (days, counted, 3)


def test_a_bar_leads_to_the_jobs_of_its_hour_or_day(admin_client, admin_user) -> None:
    make_conversions(make_site(), well=2, badly=1)
    by_hour, by_day = (shown(CONVERSIONS, admin_user, days=days).chart.bars[-1] for days in (1, 7))

    assert "2 conversions" in text_of(admin_client, by_hour.well_href)
    assert "1 conversion" in text_of(admin_client, by_day.badly_href)
    assert "0 conversions" in text_of(admin_client, shown(CONVERSIONS, admin_user).chart.bars[0].well_href)


def test_hours_older_than_a_month_are_forgotten(sql) -> None:
    make_conversions(make_site(), well=1)
    Count.objects.fold()
    sql("UPDATE lock_hourcount SET hour = hour - interval '31 days'")
    make_conversions(make_site(), well=1)

    Count.objects.fold()

    assert sql("SELECT count(*) FROM lock_hourcount WHERE hour < now() - interval '30 days'") == [(0,)]


@pytest.mark.parametrize(("well", "badly", "is_reported"), [(8, 2, False), (7, 2, True), (0, 1, True), (0, 0, False)])
def test_more_than_a_fifth_of_failures_is_alarming(admin_client, well, badly, is_reported) -> None:
    make_conversions(make_site(), well=well, badly=badly)

    assert bool(re.search(r"errors \d+ %", text_of(admin_client))) is is_reported
