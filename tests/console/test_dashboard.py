"""The operators' first screen."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from kilit.console import dashboard
from kilit.console.panels import panels
from kilit.lock.models import Count
from kilit.workers import sweeps
from kilit.workers.models import Heartbeat
from ociqueue.models import Circuit, Conversion
from ociqueue.states import Category
from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.cutting_jobs import make_job
from tests.support.dashboard import BOARD, make_conversions, make_site, text_of

pytestmark = pytest.mark.django_db

CONVERSIONS, PDF, CUTTING = panels


def shown(panel: Any, user: User) -> dashboard.PanelContent:
    return dashboard.fill_panel(panel, user)


def totals(panel: Any, user: User) -> dict[str, int]:
    return {state.name: state.rows for state in shown(panel, user).states if state.rows}


def test_three_queues_stand_side_by_side(admin_client) -> None:
    html = admin_client.get("/admin/").content.decode()

    for panel in panels:
        assert str(panel.title) in html
        assert escape(str(panel.oldest_means)) in html
        assert escape(str(panel.stuck_means)) in html
        for state in panel.table.states:
            assert f'href="{panel.list_address()}?status={state}"' in html


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
        make_conversions(make_site(name), waiting=1)
        Conversion.objects.filter(site__name=name).update(created_at=Now() - timedelta(hours=hours))

    oldest = shown(CONVERSIONS, admin_user).oldest

    assert oldest is not None
    assert oldest.text == "old"
    assert str(Conversion.objects.get(site__name="old").pk) in oldest.href


def test_stuck_is_what_the_recover_sweep_would_take(admin_client, admin_user) -> None:
    make_conversions(make_site(), waiting=6)
    Conversion.objects.claim(limit=5)
    held = Conversion.objects.filter(status="PROCESSING").values_list("pk", flat=True)[:4]
    Conversion.objects.filter(pk__in=list(held)).update(claimed_at=Now() - timedelta(hours=1))

    stuck = shown(CONVERSIONS, admin_user).stuck

    assert (stuck.rows, len(stuck.items)) == (4, 3)
    assert "4 stuck" in text_of(admin_client)
    assert sweeps.run("oci_recover_processing") == "Recovered 4."
    assert shown(CONVERSIONS, admin_user).stuck.rows == 0


def test_stuck_rows_are_counted_no_further_than_anybody_reads(admin_client, monkeypatch) -> None:
    monkeypatch.setattr(dashboard, "MOST_COUNTED", 4)
    make_conversions(make_site(), waiting=6)
    Conversion.objects.claim(limit=6)
    Conversion.objects.update(claimed_at=Now() - timedelta(hours=1))

    assert "more than 4" in text_of(admin_client)


def test_stuck_pdfs_are_those_whose_worker_is_gone(admin_user, db) -> None:
    PdfJob.objects.create(owner=admin_user, job_key="k", template_name="invoice")
    (job,) = PdfJob.objects.claim()
    assert shown(PDF, admin_user).stuck.rows == 0

    PdfJob.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1))

    assert [item.text for item in shown(PDF, admin_user).stuck.items] == ["invoice"]


def test_stuck_cutting_jobs_are_those_that_no_runner_looks_after(admin_user) -> None:
    for number in range(4):
        make_job(order_id=f"S-{number}")
    lapsed = Job.objects.claim()
    held = Job.objects.claim()
    assert lapsed
    assert held
    assert shown(CUTTING, admin_user).stuck.rows == 0

    Job.objects.filter(pk=lapsed.pk).update(lease_until=Now() - timedelta(seconds=1))
    waits = Job.objects.due().values_list("pk", flat=True)[:1]
    Job.objects.filter(pk__in=list(waits)).update(next_run_at=Now() - timedelta(minutes=6))

    assert shown(CUTTING, admin_user).stuck.rows == 2


@pytest.mark.usefixtures("within_the_hour")
def test_a_day_is_shown_by_the_hour_whether_folded_or_not(admin_user) -> None:
    make_conversions(make_site(), well=5, badly=2)
    Count.objects.fold(limit=3)

    chart = shown(CONVERSIONS, admin_user).chart

    assert len(chart.hours) == 24
    assert (chart.hours[-1].well, chart.hours[-1].badly) == (5, 2)
    assert (chart.well, chart.badly) == (5, 2)
    Count.objects.fold()
    assert shown(CONVERSIONS, admin_user).chart == chart


@pytest.mark.usefixtures("within_the_hour")
def test_what_ended_before_the_last_24_hours_is_not_shown(admin_user, sql) -> None:
    make_conversions(make_site(), well=3)
    Count.objects.fold()
    sql("UPDATE lock_hourcount SET hour = hour - interval '23 hours'")
    assert shown(CONVERSIONS, admin_user).chart.hours[0].well == 3

    sql("UPDATE lock_hourcount SET hour = hour - interval '1 hour'")

    assert shown(CONVERSIONS, admin_user).chart.well == 0


def test_hours_older_than_a_month_are_forgotten(sql) -> None:
    make_conversions(make_site(), well=1)
    Count.objects.fold()
    sql("UPDATE lock_hourcount SET hour = hour - interval '31 days'")

    Count.objects.fold()

    assert sql("SELECT count(*) FROM lock_hourcount") == [(0,)]


@pytest.mark.parametrize(("well", "badly", "is_reported"), [(8, 2, False), (7, 2, True), (0, 1, True), (0, 0, False)])
def test_more_than_a_fifth_of_failures_is_alarming(admin_client, well, badly, is_reported) -> None:
    make_conversions(make_site(), well=well, badly=badly)

    assert bool(re.search(r"errors \d+ %", text_of(admin_client))) is is_reported


def test_paused_sites_say_why(admin_client) -> None:
    site = make_site("Ege", is_paused=True, pause_reason="Audit until Friday")

    html = admin_client.get("/admin/").content.decode()

    assert "Audit until Friday" in html
    assert f"/admin/ociqueue/site/{site.pk}/change/" in html


def test_of_very_many_paused_sites_a_few_are_named(admin_client) -> None:
    for number in range(9):
        make_site(f"site {number}", is_paused=True, pause_reason="Audit")

    text = text_of(admin_client)

    assert "Paused sites 9" in text
    assert "and 4 more" in text


def test_open_circuits_and_missing_logins_of_api_sites_are_shown(admin_client) -> None:
    site = make_site("Deniz", sync_method="api")
    Circuit.objects.trip(site, code="PAUSED_ACCOUNT", category=Category.AUTH, reason="It is suspended.")
    script = make_site("Script")
    Circuit.objects.trip(script, code="OLD_TROUBLE", category=Category.AUTH, reason="From before.")

    text = text_of(admin_client)

    assert "PAUSED_ACCOUNT" in text
    assert "OLD_TROUBLE" not in text
    assert "Sites without credentials 1" in text


def test_a_script_that_does_not_come_is_reported(admin_client) -> None:
    site = make_site("Ege", last_export_at="2020-01-01T00:00Z")
    make_site("Nothing to do", last_export_at="2020-01-01T00:00Z")
    make_conversions(site, waiting=1)

    assert "Silent scripts 1" in text_of(admin_client)


def test_jobs_on_hold_wait_for_a_person(admin_client) -> None:
    make_job(order_id="S-77")
    Job.objects.move("hold", error_code="E_CRM_NO_MATCH")

    html = admin_client.get("/admin/").content.decode()

    assert "Needs approval" in html
    assert "S-77" in html
    assert "Customer unknown" in html


def test_a_full_queue_is_reported(admin_client, admin_user, settings) -> None:
    settings.PDF_QUEUE_LIMIT = 1
    PdfJob.objects.create(owner=admin_user, job_key="k", template_name="invoice")

    assert "The queue is full" in text_of(admin_client)


def test_workers_are_alive_or_not(admin_client) -> None:
    assert "none running" in text_of(admin_client)

    Heartbeat.objects.create(name="pc:1:a", alive_at=Now())
    Heartbeat.objects.create(name="pc:2:b", alive_at=Now() - timedelta(minutes=2))

    text = text_of(admin_client)
    assert "1 supervisor is running." in text
    assert "1 is not responding." in text


def test_the_number_of_queries_is_that_of_an_empty_installation(admin_client) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            admin_client.get(BOARD)
        return len(captured)

    asked()  # the first request after a start reads what later ones know
    Heartbeat.objects.create(name="pc:1:a", alive_at=Now())
    make_job(order_id="S-0")
    make_conversions(make_site("first"), well=1, badly=1, waiting=1)
    before = asked()

    for number in range(30):
        site = make_site(f"site {number}", is_paused=number % 2 == 0, pause_reason="Audit", sync_method="api")
        make_conversions(make_site(f"script {number}"), well=2, badly=2, waiting=2)
        Circuit.objects.trip(site, code="X", category=Category.AUTH, reason="No.")
        make_job(order_id=f"S-{number}")
        Heartbeat.objects.create(name=f"pc:{number}:b", alive_at=Now())

    assert asked() <= before + 4  # how many more there are of paused sites, circuits, missing logins, stuck rows
    assert before < 30
