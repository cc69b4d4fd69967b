"""After an action: where its rows are now, as numbers that lead to lists."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from kilit.batches.models import BulkAction
from ociqueue.models import Conversion
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.models.job import failure
from tests.support.bulk_actions import LIST, PAGES, asked, worked
from tests.support.cutting_jobs import make_job

pytestmark = pytest.mark.django_db

JOBS = "/admin/orchestrator/job/"


def numbers_on(client: Client, action: BulkAction) -> dict[str, str]:
    """Return the numbers on the page of a bulk action, each with its address."""
    (part,) = re.findall(r'id="bulk-outcome".*?</p>', client.get(f"{PAGES}{action.pk}/change/").text, re.DOTALL)
    return {text: href.replace("&amp;", "&") for href, text in re.findall(r'href="([^"]+)">([^<]+)</a>', part)}


def listed(client: Client, address: str) -> set[Any]:
    return {row.pk for row in client.get(address).context["cl"].result_list}


def test_a_finished_bulk_action_reports_where_its_rows_are_now(operator, site, make_failed) -> None:
    rows = make_failed(site, 4)
    action = worked(asked(operator))
    make_failed(site, 1)
    done, again = (Conversion.objects.filter(pk=row.pk) for row in rows[:2])
    for chosen in (done, again):
        chosen.claim(limit=1)
    done.move("ack")
    again.ack_failed(code="X", category="VALIDATION", message="no")

    numbers = numbers_on(operator, action)

    assert list(numbers) == ["The rows it changed", "Waiting: 2", "Sent: 1", "Failed again: 1"]
    assert listed(operator, numbers["The rows it changed"]) == {row.pk for row in rows}
    assert listed(operator, numbers["Failed again: 1"]) == {rows[1].pk}
    assert listed(operator, numbers["Sent: 1"]) == {rows[0].pk}
    assert "data-live-ended" not in operator.get(f"{PAGES}{action.pk}/change/").text, "it goes on after its end"
    BulkAction.objects.update(finished_at=Now() - timedelta(hours=2))
    assert "data-live-ended" in operator.get(f"{PAGES}{action.pk}/change/").text


def test_rows_that_were_skipped_are_not_in_the_list_of_changed_ones(operator, site, make_failed) -> None:
    rows = make_failed(site, 2)
    action = asked(operator)
    Conversion.objects.filter(pk=rows[0].pk).reset_to_queued()

    worked(action)

    assert listed(operator, f"{LIST}?bulk={action.pk}") == {rows[1].pk}


def test_the_rows_of_other_sites_stay_out_of_sight(make_person, make_site, make_failed) -> None:
    mine, other = make_site(), make_site()
    make_failed(mine, 1)
    make_failed(other, 2)
    action = worked(asked(make_person(sites={mine: "operator", other: "operator"})))

    assert len(listed(make_person("can", sites={mine: "viewer"}), f"{LIST}?bulk={action.pk}")) == 1


def test_what_failed_again_can_be_retried_as_a_whole(operator, site, make_failed) -> None:
    make_failed(site, 2)
    first = worked(asked(operator))
    Conversion.objects.claim(limit=2)
    Conversion.objects.all().ack_failed(code="X", category="VALIDATION", message="no")
    make_failed(site, 1)

    second = worked(asked(operator, query=f"bulk={first.pk}&status=FAILED"))

    assert (second.total, second.moved_count) == (2, 2)


def test_jobs_that_are_held_again_are_reported_over_the_list(admin_client) -> None:
    jobs = [hold(make_job(order_id=f"S-{number}")) for number in range(3)]
    ids = ",".join(str(job.pk) for job in jobs)

    after = admin_client.post(f"{JOBS}act/approve/", {"ids": ids, "reason": "fixed"}, follow=True)
    for job in Job.objects.all():
        hold(job)
    later = admin_client.get(JOBS).text

    assert "Approved 3 of 3." in [str(message) for message in after.context["messages"]]
    assert "New: 3" in after.text.partition('<div id="list-head" data-live-also>')[2]
    assert "Needs approval again: 3" in later
    assert f'href="{JOBS}?status=HOLD"' in later


def hold(job: Job) -> Job:
    return job.move("hold", **failure(JobError(Code.CRM_NO_MATCH, "Part g1: fix it.")))
