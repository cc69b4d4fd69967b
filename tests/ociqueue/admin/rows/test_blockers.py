"""What is blocking a conversion, on its read-only page."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from kilit.workers import sweeps
from kilit.workers.models import Heartbeat, SweepRun
from ociqueue.models import Conversion, Site, UploadBatch
from ociqueue.states import SyncMethod
from tests.support.adjusted import api_site
from tests.support.conversions import make_completed, make_failed
from tests.support.guarded_columns import write_unguarded

pytestmark = pytest.mark.django_db

LIST = "/admin/ociqueue/conversion/"


@pytest.fixture
def worker_lives() -> None:
    """Say that workers live and sweeps take their turns, without any."""
    Heartbeat.objects.create(name="here", alive_at=Now())
    sweeps.reconcile()
    SweepRun.objects.update(taken_at=Now(), succeeded=True)


@pytest.fixture
def reported(admin_client: Client):
    def read(row: Conversion) -> list[tuple[str, str]]:
        answer = admin_client.get(f"{LIST}{row.pk}/change/")
        assert answer.status_code == 200
        return [(reason.kind, reason.sentence) for reason in answer.context["blockers"]]

    return read


def says(reasons: list[tuple[str, str]], kind: str, words: str) -> bool:
    return any(kind == found and words in sentence for found, sentence in reasons)


def claim(row: Conversion, **options: Any) -> None:
    assert Conversion.objects.filter(pk=row.pk).claim(limit=1, **options)


def test_a_paused_site_keeps_its_rows_and_says_why(reported, admin_client, make_site, make_conversion) -> None:
    row = make_conversion(make_site(is_paused=True, pause_reason="stock count"))

    assert reported(row)[0] == ("blocked", "The site is paused: stock count")
    page = admin_client.get(f"{LIST}{row.pk}/change/").content.decode()
    assert f'href="/admin/ociqueue/site/{row.site_id}/change/"' in page


def test_a_retry_time_in_the_future_is_reported(reported, site, make_conversion) -> None:
    row = make_conversion(site)
    claim(row)
    Conversion.objects.filter(pk=row.pk).move(
        "defer", claimed_at=None, next_retry_at=datetime.now(UTC) + timedelta(hours=3), provider_error_code="BUSY"
    )

    assert says(reported(row), "waiting", "It is retried at ")
    assert says(reported(row), "waiting", "not earlier")


def test_when_nothing_keeps_it_that_is_said(reported, worker_lives, make_conversion) -> None:
    row = make_conversion(api_site())

    assert reported(row) == [
        ("ready", "Nothing: it is due, and a worker should start it within seconds."),
    ]


def test_a_script_that_comes_and_one_that_is_silent_are_distinguished(reported, make_site, make_conversion) -> None:
    comes, silent, never = make_site(), make_site(), make_site()
    Site.objects.filter(pk=silent.pk).update(last_export_at=datetime.now(UTC) - timedelta(days=3))
    Site.objects.filter(pk=never.pk).update(created_at=datetime.now(UTC) - timedelta(days=3))

    assert says(reported(make_conversion(comes)), "waiting", "Waiting for the script's next run")
    assert says(reported(make_conversion(silent)), "blocked", "The site's script last called 3\xa0days ago")
    assert says(reported(make_conversion(never)), "blocked", "The site's script has never called")


def test_used_up_attempts_name_the_sweep_and_whether_it_runs(reported, worker_lives, site, make_conversion) -> None:
    row = make_conversion(site)
    write_unguarded(Conversion.objects.filter(pk=row.pk), attempt_count=5)

    assert says(reported(row), "blocked", "the scheduled task oci_attempt_cap will fail it")
    assert not says(reported(row), "blocked", "overdue")
    SweepRun.objects.filter(name="oci_attempt_cap").update(taken_at=Now() - timedelta(hours=2))
    assert says(reported(row), "blocked", "The scheduled task oci_attempt_cap is overdue")
    SweepRun.objects.filter(name="oci_attempt_cap").update(taken_at=Now(), succeeded=False, result="KeyError: 'x'")
    failed = "The scheduled task oci_attempt_cap failed on its last run: An unexpected error occurred in the program."
    assert says(reported(row), "blocked", failed)


def test_a_retracted_row_that_waits_names_the_sweep_unless_google_may_have_it(
    reported, worker_lives, site, make_conversion
) -> None:
    row = make_conversion(site)
    mine = Conversion.objects.filter(pk=row.pk)
    mine.update(is_retracted=True)

    assert reported(row) == [("blocked", "It was retracted, so it is not sent: oci_end_unsendable ends it.")]
    mine.update(outcome_unknown=True)
    assert not says(reported(row), "blocked", "It was retracted")


def test_a_claim_says_who_holds_it_and_until_when(reported, worker_lives, site, make_conversion) -> None:
    row = make_conversion(site)
    claim(row)

    assert says(reported(row), "waiting", "holds it until ")
    Conversion.objects.filter(pk=row.pk).update(claimed_at=Now() - timedelta(hours=1))
    assert says(
        reported(row), "waiting", "and has not reported; the scheduled task oci_recover_processing takes it back"
    )
    SweepRun.objects.update(taken_at=None)
    assert says(reported(row), "blocked", "The scheduled task oci_recover_processing is overdue")


def test_an_upload_that_holds_a_row_is_linked(admin_client, make_conversion) -> None:
    site = api_site()
    row, batch = make_conversion(site), UploadBatch.objects.create(site=site, size=1)
    claim(row, batch=batch.pk, sender=SyncMethod.API)

    page = admin_client.get(f"{LIST}{row.pk}/change/").content.decode()

    assert "It is part of an upload to Google." in page
    assert f'href="/admin/ociqueue/uploadbatch/{batch.pk}/change/"' in page
    assert "Attempts left" in page


def test_an_ended_row_says_so_and_a_failed_one_what_to_do(reported, worker_lives, make_site) -> None:
    site = make_site(requeue_transient=True)
    done, (failed,), (passing,) = make_completed(site), make_failed(site), make_failed(site, category="TRANSIENT")

    assert says(reported(done), "ended", "Completed: it was sent.")
    assert says(reported(failed), "blocked", "Correct it and send it again.")
    assert says(reported(passing), "waiting", "The scheduled task oci_requeue_transient retries it within")
