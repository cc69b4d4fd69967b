"""Looking conversions up by id, source key and order id, with a key."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kilit.access.models import ApiKey
from kilit.lock.identity import uuid7
from ociqueue.codes.entries import MALFORMED_CLICK_ID, RECENT_CLICK, WRONG_DATA
from ociqueue.intake.enqueue import enqueue
from ociqueue.models import Conversion
from ociqueue.schemas.lookups import MOST_FOUND, MOST_LOOKUPS
from tests.support.api import Api
from tests.support.conversions import make_failed
from tests.support.redelivered import ORDER, claim, fail, only, send

pytestmark = pytest.mark.django_db

NONE = {"claimedAt": None, "uploadedAt": None, "endedAt": None, "nextRetryAt": None}


def find(api: Api, **query: Any) -> list[dict[str, Any]]:
    answer = api.get("oci/conversions", **query)
    assert answer.status_code == 200, answer.content
    return answer.json()["conversions"]


def errors_of(answer: Any) -> dict[str, str]:
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION")
    return {each["field"]: each["message"] for each in answer.json()["error"]["fields"]}


def test_a_conversion_is_found_by_its_id_source_key_or_order_id(api, site) -> None:
    send(site)
    row = only()

    for named in ({"id": str(row)}, {"id": str(row.pk)}, {"sourceKey": "order-1001"}, {"orderId": row.order_id}):
        for of_site in ({}, {"siteId": site.public_id}, {"siteId": str(site.pk)}):
            assert find(api, **named, **of_site) == [
                {
                    "id": str(row),
                    "sourceKey": "order-1001",
                    "orderId": row.order_id,
                    "conversionName": "Satış",
                    "state": "QUEUED",
                    "outcomeUnknown": False,
                    "attemptCount": 0,
                    "error": None,
                    "conversionTime": row.conversion_time.isoformat(),
                    "eventSource": "WEB",
                    "createdAt": row.created_at.isoformat(),
                    "updatedAt": row.updated_at.isoformat(),
                    **NONE,
                    "replaces": None,
                    "replacedBy": None,
                }
            ]


def test_times_and_attempts_follow_the_states(api, site) -> None:
    send(site)
    claim()
    (claimed,) = find(api, sourceKey="order-1001")
    Conversion.objects.all().move("ack")
    (done,) = find(api, sourceKey="order-1001")

    assert (claimed["state"], claimed["attemptCount"], claimed["endedAt"]) == ("PROCESSING", 1, None)
    assert claimed["claimedAt"] == only().claimed_at.isoformat()
    assert (done["state"], done["endedAt"]) == ("COMPLETED", only().updated_at.isoformat())


def test_a_row_that_waits_for_another_attempt_has_its_time(api, site) -> None:
    send(site)
    claim()
    later = timezone.now() + timedelta(hours=6)
    Conversion.objects.move("defer", next_retry_at=later, provider_error_code="TOO_RECENT_EVENT", last_error="Wait.")

    (found,) = find(api, sourceKey="order-1001")

    assert (found["state"], found["nextRetryAt"]) == ("RETRY", later.isoformat())
    assert found["error"]["hint"] == RECENT_CLICK.hint


def test_an_error_has_a_hint_and_no_personal_data(api, site) -> None:
    hint = MALFORMED_CLICK_ID.hint
    (row,) = make_failed(
        site,
        code="UNPARSEABLE_GCLID",
        message=f"{hint} UNPARSEABLE_GCLID: Cj0KCQ-test_1 of +905551234567, ali@example.com.",
    )
    (other,) = make_failed(site, code="MADE_UP", message="=cmd")

    (found,) = find(api, id=str(row))
    (unknown,) = find(api, id=str(other))

    assert found["error"] == {
        "code": "UNPARSEABLE_GCLID",
        "category": "VALIDATION",
        "message": "UNPARSEABLE_GCLID: … of …4567, a…@example.com.",
        "hint": hint,
    }
    assert unknown["error"]["hint"] == WRONG_DATA.hint


def test_a_source_key_finds_its_corrected_copies_newest_first_linked_both_ways(api, site) -> None:
    first = send(site)["id"]
    fail()
    second = send(site, gclid="Cj0KCQ-second")["id"]
    fail()
    third = send(site, gclid="Cj0KCQ-third")["id"]

    found = find(api, sourceKey="order-1001")

    assert [each["id"] for each in found] == [third, second, first]
    assert [each["replacedBy"] for each in found] == [None, third, second]
    assert [each["replaces"] for each in found] == [second, first, None]
    assert {each["sourceKey"] for each in found} == {"order-1001"}, "copies are known by it, too"
    assert [each["error"] and each["error"]["hint"] for each in found][1:] == [
        "A corrected copy was sent in its place."
    ] * 2
    assert find(api, id=third) == [found[0]], "an id finds that row alone"
    assert [each["id"] for each in find(api, orderId=found[0]["orderId"])] == [third, second, first]


def test_a_source_key_of_several_names_finds_all_and_letters_count(api, site) -> None:
    send(site)
    send(site, conversionName="Lead")
    send(site, sourceKey="ORDER-1001")

    assert {each["conversionName"] for each in find(api, sourceKey="order-1001")} == {"Satış", "Lead"}
    assert [each["sourceKey"] for each in find(api, sourceKey="ORDER-1001")] == ["ORDER-1001"]
    assert find(api, sourceKey="Order-1001") == []


def test_what_is_unknown_is_an_empty_list(api) -> None:
    for named in ({"id": str(uuid7())}, {"sourceKey": "unknown"}, {"orderId": "unknown"}):
        assert find(api, **named) == []


def test_only_the_newest_of_very_many_are_shown(api, site) -> None:
    many = [{**ORDER, "conversionName": f"Sale {number}"} for number in range(MOST_FOUND + 5)]
    newest = [result["id"] for result in enqueue(site, many)]

    answer = api.get("oci/conversions", sourceKey="order-1001").json()

    assert [each["id"] for each in answer["conversions"]] == sorted(newest, reverse=True)[:MOST_FOUND]
    assert answer["hasMore"] is True


@pytest.mark.parametrize(
    ("query", "field", "message"),
    [
        ({}, "", "Name the conversion by id, sourceKey or orderId."),
        ({"id": "x", "sourceKey": "y"}, "id", "Expected seal_<uuid>."),
        ({"orderId": "x", "sourceKey": "y"}, "", "Name the conversion once: sourceKey and orderId are given."),
        ({"sourceKey": ""}, "sourceKey", "This may not be empty."),
        ({"sourceKey": " "}, "sourceKey", "This may not be empty."),
        ({"sourceKey": "x" * 201}, "sourceKey", "At most 200 characters."),
        ({"sourceKey": "x", "siteId": ""}, "siteId", "This may not be empty."),
        ({"sourceKey": ["x", "y"]}, "sourceKey", "Given more than once."),
        ({"sourcekey": "x"}, "sourcekey", "Unknown field. Known fields: id, sourceKey, orderId, siteId."),
    ],
)
def test_what_is_wrong_with_a_lookup_is_said(api, query: dict[str, Any], field: str, message: str) -> None:
    assert errors_of(api.get("oci/conversions", **query))[field] == message


def test_a_key_of_several_sites_names_the_site(make_site) -> None:
    user = User.objects.create_user("agency")
    api = Api(ApiKey.objects.issue(user, name="agency")[1])
    assert api.get("oci/conversions", sourceKey="x").status_code == 404

    sites = [make_site(), make_site()]
    for site in sites:
        site.memberships.create(user=user, role="viewer")

    assert errors_of(api.get("oci/conversions", sourceKey="x")) == {
        "siteId": "This field is required: the key opens several sites."
    }
    assert find(api, sourceKey="x", siteId=sites[0].public_id) == []


def test_many_are_looked_up_at_once_in_the_order_asked(api, site) -> None:
    send(site)
    send(site, sourceKey="order-1002")
    row = only(source_key="order-1002")
    lookups = [{"sourceKey": "order-9"}, {"id": str(row)}, {"sourceKey": "order-1001"}, {"orderId": row.order_id}]

    answer = api.post("oci/conversions/lookup", {"siteId": site.public_id, "lookups": lookups}).json()

    assert (answer["siteId"], answer["found"], answer["notFound"]) == (site.public_id, 3, 1)
    assert [(each["index"], each["status"]) for each in answer["results"]] == [
        (0, "notFound"),
        (1, "found"),
        (2, "found"),
        (3, "found"),
    ]
    keys = [[found["sourceKey"] for found in each["conversions"]] for each in answer["results"]]
    assert keys == [[], ["order-1002"], ["order-1001"], ["order-1002"]]


def test_the_number_of_lookups_is_limited_and_faults_name_their_place(api, site) -> None:
    one = {"sourceKey": "order-1001"}

    def ask(*lookups: Any) -> Any:
        return api.post("oci/conversions/lookup", {"siteId": site.public_id, "lookups": list(lookups)})

    assert ask(*[one] * MOST_LOOKUPS).json()["notFound"] == MOST_LOOKUPS
    assert errors_of(ask(*[one] * (MOST_LOOKUPS + 1))) == {"lookups": "Expected at most 1,000, got 1,001."}
    assert errors_of(ask()) == {"lookups": "Expected at least 1, got 0."}
    assert errors_of(ask(one, {"id": "x"}, {}, "x")) == {
        "lookups.1.id": "Expected seal_<uuid>.",
        "lookups.2": "Name the conversion by id, sourceKey or orderId.",
        "lookups.3": "Expected an object.",
    }


def test_a_source_key_that_was_sent_as_a_number_is_found_as_one(api, site) -> None:
    send(site, sourceKey="1001")

    answer = api.post("oci/conversions/lookup", {"lookups": [{"sourceKey": 1001}]}).json()

    assert answer["found"] == 1


def test_a_thousand_lookups_take_few_queries(api, site) -> None:
    def questions(number: int) -> int:
        enqueue(site, [{**ORDER, "sourceKey": f"order-{each}"} for each in range(number)])
        lookups = [{"sourceKey": f"order-{each}"} for each in range(number)]
        with CaptureQueriesContext(connection) as asked:
            assert api.post("oci/conversions/lookup", {"lookups": lookups}).json()["found"] == number
        return len(asked)

    find(api, sourceKey="x")  # notes that the key was used

    assert questions(1) == questions(50)


def test_a_script_session_looks_nothing_up(api, site) -> None:
    """It is for exporting and acknowledging rows, and is handed to a script that others can read."""
    token = api.post("oci/v2/verify", {"siteId": site.public_id}).json()["session_token"]
    script = Api()
    script.headers = {"authorization": f"Bearer {token}"}
    day = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}

    answers = [
        script.get("oci/conversions", sourceKey="order-1001"),
        script.post("oci/conversions/lookup", {"lookups": [{"sourceKey": "order-1001"}]}),
        script.get("oci/conversions/export", **day),
    ]

    assert [answer.status_code for answer in answers] == [401] * 3
