"""Links on a job's page in the console."""

import re
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client

from kilit.access.models import DeniedRequest
from kilit.lock.models import Activity, Event
from pdfjobs.models import PdfJob
from tests.support.pdf_jobs import PDF

pytestmark = pytest.mark.django_db


def page_of(job: PdfJob) -> str:
    return f"/admin/pdfjobs/pdfjob/{job.pk}/change/"


def form_of(job: PdfJob) -> str:
    return f"/admin/pdfjobs/pdfjob/{job.pk}/link/"


def test_an_operator_creates_a_link_that_a_stranger_opens(make_person, make_job) -> None:
    job = make_job("succeeded")

    shown = make_person().post(form_of(job), {"life": "hour"}, follow=True).text

    (url,) = set(re.findall(r'data-copy="(http://testserver/pdf/links/[^"]+)"', shown))
    answer = Client().get(url.removeprefix("http://testserver"))
    assert b"".join(answer.streaming_content) == PDF
    assert "Link created by ayse" in shown


def test_a_link_is_recorded_in_the_timeline_and_in_the_activity(make_person, make_job) -> None:
    job = make_job("succeeded")

    make_person().post(form_of(job), {"life": "hour"})

    event = Event.objects.of(job).last()
    assert event
    assert (event.event_type, event.actor) == ("LINK_CREATED", "operator:ayse")
    assert Activity.objects.get(verb="LINK_CREATED").object_id == job.job_id
    listed = make_person("eda", role="admin").get("/admin/lock/activity/").text
    assert "Link created by ayse" in listed


def test_the_page_offers_what_the_file_outlives(make_person, make_job, settings) -> None:
    job, operator = make_job("succeeded"), make_person()
    settings.PDF_TTL = timedelta(days=3)

    offered = re.findall(r'<option value="(\w+)"', operator.get(page_of(job)).text)
    settings.PDF_TTL = timedelta(days=30)
    longer = re.findall(r'<option value="(\w+)"', operator.get(page_of(job)).text)

    assert offered == ["hour", "day", "file"]
    assert longer == ["hour", "day", "week"]


@pytest.mark.parametrize("state", ["queued", "running", "failed", "expired"])
def test_a_job_without_a_pdf_offers_no_link(make_person, make_job, state: str) -> None:
    job, operator = make_job(state), make_person()

    assert "Create link" not in operator.get(page_of(job)).text
    assert "No link was created" in operator.post(form_of(job), {"life": "hour"}, follow=True).text
    assert not Event.objects.of(job).filter(event_type="LINK_CREATED").exists()


def test_a_pdf_about_to_be_deleted_offers_no_link(make_person, make_job, settings) -> None:
    job = make_job("succeeded")
    PdfJob.objects.filter(pk=job.pk).update(started_at=Now() - settings.PDF_TTL, finished_at=Now() - settings.PDF_TTL)

    assert "Create link" not in make_person().get(page_of(job)).text


def test_viewers_create_no_links_and_the_attempt_is_recorded(make_person, make_job) -> None:
    job, viewer = make_job("succeeded"), make_person(role="viewer")

    assert "Create link" not in viewer.get(page_of(job)).text
    assert viewer.post(form_of(job), {"life": "hour"}).status_code == 403
    assert DeniedRequest.objects.get().path == form_of(job)
    assert not Event.objects.of(job).filter(event_type="LINK_CREATED").exists()


def test_returning_to_the_form_after_a_login_creates_nothing(make_person, make_job) -> None:
    job = make_job("succeeded")

    assert make_person().get(form_of(job)).headers["Location"] == page_of(job)
    assert not Event.objects.of(job).filter(event_type="LINK_CREATED").exists()
