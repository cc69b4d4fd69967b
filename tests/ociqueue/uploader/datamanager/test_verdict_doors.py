"""The ways to ask for verdicts: the command, the cron URL, the schedule and the bell."""

import pytest
from django.db.models.functions import Now

from kilit.lock.models import Event
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import MOST_NAMED, Severity
from kilit.workers import doorbells, sweeps
from kilit.workers.models import Heartbeat
from ociqueue.models import Receipt
from ociqueue.uploader.upload_run import upload_due
from ociqueue.uploader.verdict_run import ask_for_verdicts
from tests.support.api import Api
from tests.support.commands import output_of
from tests.support.dashboard import problems
from tests.support.later_provider import make_due
from tests.support.uploads import states

pytestmark = pytest.mark.django_db


def test_the_command_asks_and_prints_what_it_did(uploaded, dm_site) -> None:
    uploaded("one")

    assert output_of("oci_verdicts", dry_run=True) == "Would ask for 1 of 1 open requests.\n"
    assert states(dm_site) == ["UPLOADED"]
    assert output_of("oci_verdicts") == "Confirmed 1, rejected 0, deferred 0.\n"
    assert output_of("oci_verdicts") == "Confirmed 0, rejected 0, deferred 0.\n"

    assert Event.objects.get(to_state="COMPLETED").actor == "command:oci_verdicts"


def test_the_schedule_and_the_bell_ask(uploaded, dm_site) -> None:
    assert not doorbells.doorbells["oci_verdicts"].is_due()
    uploaded("one")
    assert doorbells.doorbells["oci_verdicts"].is_due()
    assert sweeps.sweeps["oci_verdicts"].every.total_seconds() == 300

    sweeps.reconcile()
    assert "oci_verdicts" in sweeps.take_due()
    assert "Confirmed 1" in sweeps.run("oci_verdicts")

    assert states(dm_site) == ["COMPLETED"]
    assert not doorbells.doorbells["oci_verdicts"].is_due()


def test_the_cron_url_rings_the_bell(uploaded, settings, later) -> None:
    settings.CRON_SECRET = "tick"
    scheduler = Api()
    assert scheduler.get("cron/oci/verdicts").status_code == 401
    scheduler.headers = {"authorization": "Bearer tick"}
    assert scheduler.get("cron/oci/verdicts").json()["result"] == "Nothing is due."
    uploaded("one")

    assert scheduler.get("cron/oci/verdicts").status_code == 503
    Heartbeat.objects.create(name="here", pid=1, alive_at=Now())
    assert scheduler.post("cron/oci/verdicts", {}).json()["result"] == "Rung."
    assert later.asked == [], "a worker asks"


def test_the_task_ends_within_its_time(uploaded, later, settings, monkeypatch) -> None:
    """The last question may take as long as a call to Google, so the run begins none after that."""
    uploaded("one")
    given = []
    monkeypatch.setattr(
        "ociqueue.uploader.verdict_run.VerdictRun.ask", lambda _run, *, seconds: given.append(seconds) or ""
    )

    doorbells.doorbells["oci_verdicts"].handler()

    assert 0 < given[0] <= settings.TASK_TIMEOUT - settings.GOOGLE_ADS_TIMEOUT


# What people see of a verdict that does not come


def test_a_verdict_that_is_overdue_is_a_problem_with_its_site_and_upload(uploaded, dm_site, admin_user) -> None:
    rows = uploaded("one", "two")
    make_due(hours=23)
    assert problems(ProblemKind.VERDICT_OVERDUE, admin_user) == []

    make_due(hours=25)
    Receipt.objects.update(note="The login was revoked.")
    (problem,) = problems(ProblemKind.VERDICT_OVERDUE, admin_user)

    assert problem.title == f"{dm_site.name}: no verdict from Google on 2 conversions"
    assert "after 72 hours they are sent again · The login was revoked." in problem.cause
    assert (problem.count, problem.severity, problem.since) == (2, Severity.WARNING, Receipt.objects.get().received_at)
    assert problem.link == f"/admin/ociqueue/uploadbatch/{Receipt.objects.get().batch_id}/change/"
    assert [place.scope for place in problem.where] == [str(dm_site.pk)]
    assert {row.site_id for row in rows} == {dm_site.pk}

    ask_for_verdicts()
    assert problems(ProblemKind.VERDICT_OVERDUE, admin_user) == []


def test_many_sites_without_a_verdict_share_a_line(later, make_dm_site, make_rows, admin_user, make_person) -> None:
    sites = [make_dm_site(name=f"{number} 100 % %(x)s") for number in range(MOST_NAMED + 1)]
    for site in sites:
        make_rows(site, "one")
    upload_due()
    make_due(hours=25)

    (problem,) = problems(ProblemKind.VERDICT_OVERDUE, admin_user)

    assert (problem.title, problem.count) == ("6 sites wait for Google's verdict", 6)
    assert len(problem.stands_for) == 6
    Receipt.objects.filter(batch__site=sites[0]).update(received_at=Now())
    assert len(problems(ProblemKind.VERDICT_OVERDUE, admin_user)) == MOST_NAMED


def test_others_sites_are_not_named(uploaded, make_site, make_person, django_user_model) -> None:
    uploaded("one")
    make_due(hours=25)
    make_person("ali", sites={make_site(name="other"): "operator"})

    assert problems(ProblemKind.VERDICT_OVERDUE, django_user_model.objects.get(username="ali")) == []


def test_the_metrics_count_open_requests(uploaded, client) -> None:
    assert "kilit_verdicts_open 0.0" in client.get("/metrics").text
    uploaded("one", "two")
    make_due(hours=2)

    text = client.get("/metrics").text

    assert "kilit_verdicts_open 1.0" in text
    (age,) = [float(line.split()[1]) for line in text.splitlines() if line.startswith("kilit_verdict_oldest_seconds ")]
    assert 7200 <= age < 7300
