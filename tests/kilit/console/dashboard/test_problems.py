"""Problems: what is wrong, how much, where, since when, and what to do about it."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from kilit.lock.audit import acting_as
from kilit.lock.models import ErrorGroup
from kilit.problems.registry import Problem, SeesEverything, Severity, find_problems
from kilit.sites.models import Tenant
from kilit.workers.models import Heartbeat, Runner, SweepRun
from kilit.workers.sweeps import sweeps
from ociqueue.models import Circuit, Conversion, Site
from ociqueue.states import Category
from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.conversions import make_failed
from tests.support.cutting_jobs import make_job
from tests.support.dashboard import make_conversions, make_site, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def calm() -> None:
    """A worker runs, and every scheduled task has just run."""
    Heartbeat.objects.create(name="pc:1:a", alive_at=Now())
    now = timezone.now()
    for name in sweeps:
        SweepRun.note(name, taken_at=now, started_at=now, finished_at=now, succeeded=True)


def fail(site: Site, rows: int, *, code: str = "UPLOAD_EXCEPTION", message: str = "No.") -> None:
    make_failed(site, rows, code=code, category="TRANSIENT", message=message)


def found(user: object) -> list[Problem]:
    return [problem for problem in find_problems(user) if problem.kind != "no-sandbox"]  # as root only


def kinds(user: object) -> list[str]:
    return [problem.kind for problem in found(user)]


def test_failures_of_one_cause_are_one_problem_with_its_sites_and_the_retry(calm, admin_client, admin_user) -> None:
    anadolu, ege = make_site("Anadolu"), make_site("Ege")
    fail(anadolu, 3)
    ErrorGroup.objects.fold()
    fail(ege, 2)

    (problem,) = found(admin_user)

    assert (problem.kind, problem.title, problem.count) == ("failures", "5 conversions failed", 5)
    assert (problem.cause, problem.code) == ("The script's upload failed", "UPLOAD_EXCEPTION")
    assert [(place.name, place.count) for place in problem.where] == [("Anadolu", 3), ("Ege", 2)]
    assert problem.since is not None
    assert problem.since <= Conversion.objects.earliest("updated_at").updated_at
    assert problem.action is not None
    assert "5 match" in text_of(admin_client, problem.action.link)
    assert "2 conversions" in text_of(admin_client, problem.where[1].link)


def test_personal_data_in_a_cause_is_masked(calm, admin_user) -> None:
    fail(make_site(), 1, message="No consent of ayse.yilmaz@example.com, +90 555 123 45 67.")

    (problem,) = found(admin_user)

    assert "yilmaz" not in problem.cause
    assert "123" not in problem.cause


def test_the_worst_comes_first(admin_user) -> None:
    make_site("Berlin", is_paused=True, pause_reason="Audit")
    fail(make_site("Ege"), 2, code="A")
    fail(make_site("Ege"), 5, code="B")

    assert [problem.title for problem in found(admin_user)] == [
        "No worker is running",
        "5 conversions failed",
        "2 conversions failed",
        "Berlin is paused",
    ]


def test_many_causes_and_old_ones_take_a_line_each(calm, admin_user, sql) -> None:
    site = make_site()
    for number in range(2):
        fail(site, 2, code=f"OLD_{number}")
    ErrorGroup.objects.fold()
    sql("UPDATE lock_errorgroup SET first_at = first_at - interval '3 days', last_at = last_at - interval '2 days'")
    for number in range(9):
        fail(site, 3 if number < 6 else 2, code=f"NEW_{number}")

    problems = found(admin_user)

    assert [(problem.kind, problem.count) for problem in problems] == [
        *[("failures", 3)] * 6,
        ("other-failures", 2 * 3),
        ("old-failures", 4),
    ]
    assert problems[-1].severity == Severity.WARNING
    assert sum(problem.count for problem in problems) == Conversion.objects.filter(status="FAILED").count()


def test_what_a_click_solves_is_never_folded(calm, admin_client) -> None:
    for number in range(9):
        make_site(f"Paused {number}", is_paused=True, pause_reason="Audit")
    for number in range(3):
        make_site(f"API {number}", sync_method="api")
        make_conversions(make_site(f"Silent {number}", last_export_at="2020-01-01T00:00Z"), waiting=1)

    lines, _fold, folded = admin_client.get("/admin/").text.partition('<details id="problems-further"')

    assert lines.count("/resume/") + folded.count("/resume/") == 9
    assert "/resume/" not in folded


def test_a_paused_site_says_who_and_why(calm, admin_user) -> None:
    make_site("Berlin")
    with acting_as("operator:ayse"):
        Tenant.objects.all().pause(reason="Audit until Friday")

    (problem,) = found(admin_user)

    assert (problem.title, problem.cause) == ("Berlin is paused by ayse", "Audit until Friday")
    assert problem.since is not None


def test_a_site_is_resumed_from_the_dashboard_with_one_click(calm, admin_client, admin_user) -> None:
    site = make_site("Berlin", is_paused=True, pause_reason="Audit")
    (problem,) = found(admin_user)
    assert f'action="{problem.action.link}"' in admin_client.get("/admin/").text

    answer = admin_client.post(problem.action.link, {"next": "/admin/"}, follow=True)

    assert answer.redirect_chain == [("/admin/", 302)]
    assert "Berlin is resumed." in answer.text
    assert LogEntry.objects.get().get_change_message() == "Resumed."
    site.refresh_from_db()
    assert (site.is_paused, site.pause_reason, site.paused_by, site.paused_at) == (False, "", "", None)


def test_very_many_paused_sites_are_one_line(calm, admin_user) -> None:
    for number in range(21):
        make_site(f"site {number}", is_paused=True, pause_reason="Audit")

    (problem,) = found(admin_user)

    assert (problem.title, len(problem.where), problem.beyond) == ("21 sites are paused", 5, 16)


def test_open_circuits_and_missing_credentials_of_api_sites_are_problems(calm, admin_user) -> None:
    site = make_site("Deniz", sync_method="api")
    Circuit.objects.trip(site, code="PAUSED_ACCOUNT", category=Category.AUTH, reason="It is suspended.")
    script = make_site("Script")
    Circuit.objects.trip(script, code="OLD_TROUBLE", category=Category.AUTH, reason="From before.")

    circuit, credentials = sorted(found(admin_user), key=lambda problem: problem.kind, reverse=True)

    assert circuit.code == "PAUSED_ACCOUNT"
    assert credentials.title == "Deniz has no credentials"


def test_a_script_that_does_not_call_is_a_problem(calm, admin_user) -> None:
    make_conversions(make_site("Ege", last_export_at="2020-01-01T00:00Z"), waiting=1)
    make_site("Nothing to do", last_export_at="2020-01-01T00:00Z")

    (problem,) = found(admin_user)

    assert problem.title == "The script of Ege does not call"


def test_jobs_on_hold_are_listed_by_reason(calm, admin_client, admin_user) -> None:
    for number, code in enumerate(["E_CRM_NO_MATCH", "E_CRM_NO_MATCH", "E_OPERATOR_TRIGGER_REQUIRED"]):
        job = make_job(order_id=f"S-{number}")
        Job.objects.filter(pk=job.pk).move("hold", error_code=code, error_message=f"{number}")

    approval, trigger = found(admin_user)

    assert (approval.title, approval.cause) == ("2 cutting jobs need approval", "Customer unknown")
    assert (trigger.title, trigger.since) == (
        "1 cutting job waits for OptiPlanning",
        Job.objects.get(order_id="S-2").updated_at,
    )
    assert "2 jobs" in text_of(admin_client, approval.link)


def test_jobs_that_wait_long_for_optiplanning_are_a_problem(calm, admin_user, sql) -> None:
    make_job(order_id="S-1")
    Job.objects.move("prepare")
    Job.objects.move("import_files")
    assert found(admin_user) == []

    sql("UPDATE orchestrator_job SET updated_at = now() - interval '13 minutes', next_run_at = now()")

    (problem,) = found(admin_user)
    assert problem.title == "1 cutting job waits for OptiPlanning"


def test_a_full_queue_is_a_problem(calm, admin_user, settings) -> None:
    settings.PDF_QUEUE_LIMIT = 1
    PdfJob.objects.create(owner=admin_user, job_key="k", template_name="invoice")

    (problem,) = found(admin_user)

    assert (problem.kind, problem.severity) == ("queue-full", Severity.CRITICAL)


def test_a_dead_worker_is_a_problem_until_it_is_replaced(calm, admin_user) -> None:
    Heartbeat.objects.create(
        name="mill:2:b", alive_at=Now() - timedelta(minutes=2), started_at=Now() - timedelta(hours=1)
    )
    Runner.objects.create(name="saw:3:c", queue="cutting_job", pid=3, alive_at=Now() - timedelta(minutes=2))

    assert sorted((problem.title, problem.where[0].name) for problem in found(admin_user)) == [
        ("A runner does not respond · Panel cutting", "saw"),
        ("A worker does not respond", "mill"),
    ]
    Runner.objects.all().delete()
    Heartbeat.objects.create(name="mill:4:d", alive_at=Now())
    assert found(admin_user) == []


def test_late_tasks_are_problems_and_without_workers_only_the_workers_are(calm, admin_user) -> None:
    SweepRun.note("pdf_reap", taken_at=timezone.now() - timedelta(hours=1))
    SweepRun.note("fold_counts", succeeded=False, result="No disk.")

    titles = {problem.title: problem.cause for problem in found(admin_user)}
    assert set(titles) == {"Scheduled task pdf_reap: overdue", "Scheduled task fold_counts: failed"}
    assert titles["Scheduled task fold_counts: failed"] == "No disk."

    Heartbeat.objects.all().delete()
    assert kinds(admin_user) == ["none-running", "late"]


def test_all_is_well_in_one_line(calm, admin_client) -> None:
    text = text_of(admin_client)

    assert "Needs attention" not in text or "sandbox" in text
    assert "Workers" in text
    assert "Scheduled tasks" in text


def test_members_see_problems_of_their_sites_and_viewers_no_actions(calm, make_person) -> None:
    mine, theirs = make_site("Mine"), make_site("Theirs")
    fail(mine, 2)
    Site.objects.filter(pk=mine.pk).update(is_paused=True, pause_reason="Audit")
    fail(theirs, 3)
    make_job(order_id="S-1")
    Job.objects.move("hold", error_code="E_CRM_NO_MATCH")
    viewer, operator = (make_person(role, role=role, sites=(mine,)) for role in ("viewer", "operator"))

    for name in ("viewer", "operator"):
        problems = found(User.objects.get(username=name))
        assert {problem.title for problem in problems} == {
            "2 conversions failed",
            "Mine is paused",
            "1 cutting job needs approval",
        }
        assert {problem.action is not None for problem in problems} == {name == "operator"}
    assert "Review and retry" not in text_of(viewer)
    assert "Review and retry" in text_of(operator)
    assert "Theirs" not in text_of(operator)


def test_what_runs_without_a_user_sees_everything_and_gets_no_actions(calm) -> None:
    fail(make_site("Ege"), 2)

    (problem,) = found(SeesEverything())

    assert (problem.count, problem.where[0].name, problem.action) == (2, "Ege", None)
