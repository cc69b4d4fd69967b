"""The page that all jobs share: their name, the error and what to do, and one action that stands out."""

import re

import pytest
from django.db.models.functions import Now

from kilit.problems.blockers import reasons_by_kind
from kilit.workers.models import Heartbeat
from ociqueue.models import Conversion, Site
from outbox.models import OutboxMessage
from tests.support.conversions import make_failed
from tests.support.dashboard import make_site, site_with_operator
from tests.support.outbox import make_endpoint, make_failed_message, make_message
from tests.support.pdf_jobs import bring, new_job

pytestmark = pytest.mark.django_db

PDFS, ROWS = "/admin/pdfjobs/pdfjob/", "/admin/ociqueue/conversion/"


def test_the_pdf_of_a_job_is_its_primary_action(make_person) -> None:
    job = bring(new_job(), "succeeded")

    answer = make_person(role="viewer").get(f"{PDFS}{job.pk}/change/")

    assert answer.context["primary"].href == f"{PDFS}{job.pk}/file/?download"


def test_a_page_begins_with_the_name_that_people_know() -> None:
    site, client = site_with_operator(badly=1, source_keys=["order-7/a"])
    row = Conversion.objects.get()

    shown = client.get(f"{ROWS}{row.pk}/change/").content.decode()

    (heading,) = re.findall(r'<h2 class="kilit-job-name"[^>]*>\s*(.*?)\s*<', shown)
    assert heading == "order-7/a"
    assert f'data-copy="{row}"' in shown, "the id can be copied"
    assert site.name in shown
    order = [shown.index(text) for text in (heading, "What to do", ">Timeline<")]
    assert order == sorted(order)


def test_empty_facts_are_not_shown() -> None:
    _site, client = site_with_operator(badly=1)

    facts = client.get(f"{ROWS}{Conversion.objects.get().pk}/change/").context["facts"]

    labels = {fact.label for _, section in facts for fact in section}
    assert "Click id" in labels
    assert not labels & {"Uploaded at", "Next retry at", "Replaced by", "Upload that holds it"}


def test_a_job_leads_along_the_shortest_way_to_success(make_person) -> None:
    job = bring(new_job(), "failed")

    answer = make_person().get(f"{PDFS}{job.pk}/change/")

    assert [(node.state, node.look) for node in answer.context["stepper"]] == [
        ("queued", "been"),
        ("running", "been"),
        ("succeeded", "ahead"),
    ]
    assert re.search(r'kilit-step-beside kilit-badge-danger"[^>]+>● Failed</span>', answer.text)


@pytest.mark.parametrize(
    ("sender", "category", "title"),
    [
        ("script", "TRANSIENT", "Retry"),
        ("script", "AUTH", "Open the site's script"),
        ("api", "AUTH", "Open the site's connection"),
        ("script", "PERMANENT", "Retry"),
    ],
)
def test_the_primary_action_is_what_helps_against_the_error(make_person, sender, category, title) -> None:
    site = make_site()
    (row,) = make_failed(site, code="SOME_CODE", category=category)
    Site.objects.update(sync_method=sender)

    answer = make_person(sites=(site,)).get(f"{ROWS}{row.pk}/change/")

    assert str(answer.context["primary"].title) == title
    assert answer.content.decode().count('class="kilit-primary"') == 1


def test_a_queue_without_sentences_of_its_own_says_what_a_row_waits_for() -> None:
    Heartbeat.objects.create(name="here", alive_at=Now())
    message = make_message(endpoint=make_endpoint())

    def sentence() -> str:
        message.refresh_from_db()
        return " ".join(reason.sentence for reason in reasons_by_kind(message, []))

    assert sentence() == "Nothing: it is due, and a worker should start it within seconds."
    (claimed,) = OutboxMessage.objects.claim(limit=1)
    assert re.fullmatch(r"A worker holds it until .+; then a scheduled task takes it back\.", sentence())
    OutboxMessage.objects.filter(pk=claimed.pk).retry_later(error_code="HTTP_5XX")
    assert re.fullmatch(r"Attempt 2 is made at .+\.", sentence())
    OutboxMessage.objects.mark_failed()
    assert sentence() == "An operator marked it failed. There is nothing to do."
    message = make_failed_message(code="HTTP_5XX")
    assert sentence().startswith("Failed. It will not be retried automatically. The receiver failed to process")
