"""A retry done with one click can be taken back, as long as nothing has claimed the row."""

import re
from typing import Any

import pytest
from django.test import Client

from kilit.access.models import DeniedRequest
from kilit.lock.leases import new_lease
from kilit.lock.models import Activity, Event
from ociqueue.models import Conversion, Site
from orchestrator.models import Job
from orchestrator.models.job import LEASE
from tests.support.bulk_actions import said
from tests.support.conversions import make_failed
from tests.support.dashboard import make_site
from tests.support.queue_rows import LISTS, RETRY, rows_of

pytestmark = pytest.mark.django_db


QUEUES = ("conversion", "pdf", "cutting_job")


def columns(row: Any) -> dict[str, Any]:
    """Return all there is in a row but the time of its last move."""
    return type(row).objects.filter(pk=row.pk).values().get() | {"updated_at": None}


def retry(client: Client, row: Any, page: str = "act") -> Any:
    queue = row.lifecycle.queue
    address = f"{LISTS[queue]}{page}/{RETRY[queue]}/"
    return client.post(address, {"ids": str(row.pk), "from_row": "1"}, follow=True)


def undo(client: Client, row: Any) -> Any:
    return retry(client, row, "undo")


@pytest.mark.parametrize("queue", QUEUES)
def test_a_retry_is_taken_back_to_the_very_same_row(admin_client, queue: str) -> None:
    row = rows_of(queue).failed()
    before = columns(row)

    retried = retry(admin_client, row)
    (form,) = re.findall(r'<form method="post" action="([^"]+/undo/[^"]+)"', retried.text)
    undone = undo(admin_client, row)

    assert form == f"{LISTS[queue]}undo/{RETRY[queue]}/"
    assert said(undone) == ["Undone. Its state: Failed."]
    assert columns(row) == before
    assert Event.objects.of(row).last().details["verb"] == "undo_retry"
    assert "Retry taken back by admin" in undone.text
    assert said(undo(admin_client, row)) == ["There is nothing to undo."]


@pytest.mark.parametrize("queue", QUEUES)
def test_what_was_claimed_since_is_left_alone(admin_client, queue: str) -> None:
    row = rows_of(queue).failed()
    retry(admin_client, row)
    if queue == "cutting_job":
        Job.objects.filter(pk=row.pk).update(**new_lease(LEASE))
    else:
        type(row).objects.claim(**({"limit": 1} if queue == "conversion" else {}))
    claimed = columns(row)

    late = undo(admin_client, row)

    assert said(late)[0].startswith("Too late to undo: it has moved on.")
    assert columns(row) == claimed


def test_a_row_that_was_claimed_and_came_back_is_left_alone(admin_client) -> None:
    row = rows_of("conversion").failed()
    retry(admin_client, row)
    Conversion.objects.claim(limit=1)
    Conversion.objects.reset_to_queued()

    late = undo(admin_client, row)

    assert said(late) == ["Too late to undo: it has moved on. Its state: Waiting."]
    assert Conversion.objects.get().status == "QUEUED"


def test_only_the_last_retry_of_the_same_person_can_be_undone(admin_client, make_person) -> None:
    first, second = make_failed(site := make_site(), 2)
    colleague = make_person("ayse", sites=(site,))
    retry(admin_client, first)
    retry(admin_client, second)

    answers = [undo(admin_client, first), undo(colleague, second)]

    assert [said(answer) for answer in answers] == [["There is nothing to undo."]] * 2
    assert set(Conversion.objects.values_list("status", flat=True)) == {"QUEUED"}


def test_viewers_cannot_undo_and_a_get_does_nothing(admin_client, make_person) -> None:
    (row,) = make_failed(site := make_site())
    retry(admin_client, row)
    viewer = make_person("vera", role="viewer", sites=(site,))

    assert undo(viewer, row).status_code == 403
    assert admin_client.get(f"{LISTS['conversion']}undo/retry_selected/").status_code == 404
    assert DeniedRequest.objects.get().actor == "viewer:vera"
    assert Conversion.objects.get().status == "QUEUED"


def test_a_row_that_was_not_failed_and_many_rows_offer_no_undo(admin_client) -> None:
    site = make_site()
    rows = make_failed(site, 3)
    Conversion.objects.filter(pk=rows[0].pk).update(provider_error_category="TRANSIENT", outcome_unknown=False)
    Site.objects.update(requeue_transient=True)
    Conversion.objects.requeue_transient()

    from_retry = retry(admin_client, rows[0])
    many = admin_client.post(
        f"{LISTS['conversion']}act/retry_selected/",
        {"ids": f"{rows[1].pk},{rows[2].pk}", "reason": "again"},
        follow=True,
    )

    assert "Retried 1 of 1" in said(from_retry)[0]
    assert "Retried 2 of 2" in said(many)[0]
    assert "/undo/" not in from_retry.text + many.text


def test_a_dialog_offers_the_persons_own_recent_reasons_those_for_the_action_first(admin_client, admin_user) -> None:
    site = make_site()
    rows = make_failed(site, 3)
    address = LISTS["conversion"]
    given = [("retry_selected", "Google is back"), ("reset_to_queued", "<b>"), ("reset_to_queued", "stuck")]
    for verb, reason in given:
        ids = ",".join(str(row.pk) for row in rows)
        admin_client.post(f"{address}act/{verb}/", {"ids": ids, "reason": reason})
        Conversion.objects.waiting().mark_failed()
    Activity.objects.create(kind="action", actor="operator:ayse", person="ayse", verb="reset_to_queued", message="hers")

    asked = admin_client.get(f"{address}{rows[0].pk}/reset/")

    assert asked.context["reasons"] == ["stuck", "<b>", "Google is back"]
    assert 'list="recent-reasons"' in asked.text
    assert '<option value="&lt;b&gt;"></option>' in asked.text
