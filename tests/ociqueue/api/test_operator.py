"""The operators' API: stats without counting finished rows, and pages of rows."""

from datetime import timedelta

import pytest
from django.utils import timezone

from kilit.lock.models import Count
from ociqueue.models import Conversion, Site
from ociqueue.models.sending import failure
from tests.support.api import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(site, make_person) -> Api:
    return Api(client=make_person(sites={site: "operator"}))


def stats(operator: Api, site: Site) -> dict:
    return operator.get("oci/queue-stats", siteId=site.public_id).json()


def test_totals_name_all_six_states_and_what_recover_would_take(operator, site, make_conversion) -> None:
    for _ in range(3):
        make_conversion(site)
    claimed = Conversion.objects.claim(limit=2)
    Conversion.objects.filter(pk=claimed[0].pk).update(claimed_at=timezone.now() - timedelta(minutes=16))

    reported = stats(operator, site)

    assert reported["siteId"] == site.public_id
    assert reported["totals"] == {"QUEUED": 1, "RETRY": 0, "PROCESSING": 2, "UPLOADED": 0, "COMPLETED": 0, "FAILED": 0}
    assert reported["stuckProcessing"] == 1 == Conversion.objects.recover()
    assert reported["lastUpdatedAt"] is not None
    Count.objects.fold()
    assert stats(operator, site)["totals"]["RETRY"] == 1


def test_an_empty_site_has_one_shape_too(operator, site) -> None:
    reported = stats(operator, site)

    assert set(reported["totals"].values()) == {0}
    assert (reported["lastUpdatedAt"], reported["errorRate"], reported["alarming"]) == (None, None, False)


def test_many_failures_are_alarming(operator, site, make_conversion) -> None:
    rows = [make_conversion(site) for _ in range(5)]
    Conversion.objects.claim(limit=5)
    for row in rows[:4]:
        row.move("ack")
    rows[4].move("ack_failed", **failure("E", "VALIDATION", "no"))
    assert (stats(operator, site)["errorRate"], stats(operator, site)["alarming"]) == (0.2, False)

    make_conversion(site).move("mark_failed", **failure("E", "VALIDATION", "no"))

    assert (stats(operator, site)["errorRate"], stats(operator, site)["alarming"]) == (0.3333, True)
    Count.objects.fold()
    assert stats(operator, site)["errorRate"] == 0.3333


def test_a_script_that_does_not_come_for_its_rows_is_silent(operator, site, make_conversion) -> None:
    Site.objects.update(created_at=timezone.now() - timedelta(days=3))
    assert not stats(operator, site)["scriptIsSilent"]
    make_conversion(site)

    assert stats(operator, site)["scriptIsSilent"]
    Site.objects.update(last_export_at=timezone.now())
    assert not stats(operator, site)["scriptIsSilent"]


@pytest.mark.parametrize("query", [{}, {"scope": "all"}])
def test_stats_ask_for_a_site_or_all(operator, query: dict) -> None:
    assert operator.get("oci/queue-stats", **query).status_code == 400


def test_pages_are_stable_while_rows_move(operator, site, make_conversion) -> None:
    rows = [make_conversion(site) for _ in range(5)]

    first = operator.get("oci/queue-rows", siteId=site.public_id, limit=2).json()
    Conversion.objects.claim(limit=5)
    newer = make_conversion(site)
    second = operator.get("oci/queue-rows", siteId=site.public_id, limit=2, cursor=first["nextCursor"]).json()
    third = operator.get("oci/queue-rows", siteId=site.public_id, limit=2, cursor=second["nextCursor"]).json()

    seen = [row["id"] for page in (first, second, third) for row in page["rows"]]
    assert seen == [str(row) for row in reversed(rows)]
    assert str(newer) not in seen
    assert "nextCursor" not in third


def test_rows_can_be_asked_for_by_state_and_hide_the_click_id(operator, site, make_conversion) -> None:
    make_conversion(site, gclid="secret-click")
    waiting = make_conversion(site, gclid="other-click")
    Conversion.objects.claim(limit=1)

    reported = operator.get("oci/queue-rows", siteId=site.public_id, status="QUEUED")

    assert [row["id"] for row in reported.json()["rows"]] == [str(waiting)]
    assert "click" not in reported.content.decode()
    assert reported.json()["rows"][0]["attemptCount"] == 0


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"status": "GONE"}, "status"),
        ({"cursor": "nonsense!"}, "cursor"),
        ({"cursor": "AAAA"}, "cursor"),
        ({"cursor": "é"}, "cursor"),
    ],
)
def test_a_bad_question_is_refused_by_the_name_of_its_field(operator, site, query: dict, field: str) -> None:
    answer = operator.get("oci/queue-rows", siteId=site.public_id, **query)

    assert answer.status_code == 400
    assert answer.json()["error"]["fields"][0]["field"] == field


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"action": "DELETE"}, "action"),
        ({"ids": None}, "ids"),
        ({"ids": ["seal_x"]}, "ids.0"),
        ({"ids": ["seal_" + "0" * 32] * 5001}, "ids"),
        ({"errorCategory": "BAD"}, "errorCategory"),
        ({"clearErrors": "perhaps"}, "clearErrors"),
        ({"reason": "x" * 1001}, "reason"),
    ],
)
def test_a_bad_action_is_refused_by_the_name_of_its_field(operator, site, body: dict, field: str) -> None:
    answer = operator.post("oci/queue-actions", {"siteId": site.public_id, "action": "MARK_FAILED", "ids": [], **body})

    assert answer.status_code == 400
    assert answer.json()["error"]["fields"][0]["field"] == field


@pytest.mark.parametrize(
    ("action", "takes"),
    [
        ("RETRY_SELECTED", {"FAILED", "RETRY"}),
        ("RESET_TO_QUEUED", {"QUEUED", "RETRY", "PROCESSING", "FAILED"}),
        ("MARK_FAILED", {"QUEUED", "RETRY", "PROCESSING"}),
    ],
)
def test_actions_take_their_states_and_name_the_others(operator, site, make_conversion, action, takes) -> None:
    rows = {state: make_conversion(site) for state in ("PROCESSING", "COMPLETED", "FAILED", "RETRY")}
    Conversion.objects.claim(limit=4)
    rows["COMPLETED"].move("ack")
    rows["FAILED"].move("ack_failed", **failure("E", "AUTH", "no"))
    rows["RETRY"].move("defer", claimed_at=None)
    rows["QUEUED"] = make_conversion(site)

    reported = operator.post(
        "oci/queue-actions", {"siteId": site.public_id, "action": action, "ids": [str(r) for r in rows.values()]}
    ).json()

    assert reported["affected"] == len(takes)
    assert {row["status"] for row in reported["skipped"]} == set(rows) - takes
