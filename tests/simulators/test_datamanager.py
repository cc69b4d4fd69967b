"""The simulator itself: it refuses, takes and judges as Google does, and its books say what came."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from simulators.datamanager import refusals
from simulators.datamanager.refusals import Violation
from simulators.datamanager.server import cut_after, cut_before, refuse
from simulators.datamanager.statuses import descending, success_with_errors, without_indices

ONE_HOUR_AGO = datetime.now(UTC) - timedelta(hours=1)


def event(number: int, **columns: Any) -> dict[str, Any]:
    return {
        "destinationReferences": ["action"],
        "transactionId": f"oci_{number}",
        "eventTimestamp": ONE_HOUR_AGO.isoformat(),
        "adIdentifiers": {"gclid": f"click-{number}"},
        "currency": "TRY",
        "conversionValue": 10.5,
        "eventSource": "WEB",
        **columns,
    }


def clicks(*click_ids: str) -> list[dict[str, Any]]:
    return [event(number, adIdentifiers={"gclid": click_id}) for number, click_id in enumerate(click_ids)]


@pytest.fixture
def login(data_manager):
    form = {"grant_type": "refresh_token", "refresh_token": "r", "client_id": "client", "client_secret": "s"}
    answer = requests.post(f"{data_manager.address}/token", data=form, timeout=60).json()
    return {"Authorization": f"Bearer {answer['access_token']}"}


@pytest.fixture
def ingest(data_manager, login):
    def post(*events, **columns):
        customer = {"accountType": "GOOGLE_ADS", "accountId": "1234567890"}
        destination = {"reference": "action", "operatingAccount": customer, "productDestinationId": "7"}
        body = {"destinations": [destination], "events": list(events), **columns}
        address = f"{data_manager.address}/v1/events:ingest?$alt=json"
        return requests.post(address, json=body, headers=login, timeout=60)

    return post


@pytest.fixture
def ask(data_manager, login):
    def get(request_id):
        address = f"{data_manager.address}/v1/requestStatus:retrieve"
        return requests.get(address, params={"requestId": request_id}, headers=login, timeout=60)

    return get


def reasons(answer) -> list[tuple[str, str]]:
    details = answer.json()["error"]["details"]
    found = [one for detail in details for one in detail.get("fieldViolations", [])]
    return [(one["field"], one.get("reason", "")) for one in found]


def outcome(answer) -> dict[str, Any]:
    return answer.json()["requestStatusPerDestination"][0]


def test_it_takes_events_and_counts_an_id_once(data_manager, ingest) -> None:
    first, second = ingest(event(1), event(2)), ingest(event(1))

    assert first.json()["requestId"] != second.json()["requestId"]
    assert data_manager.applied == {"oci_1", "oci_2"}
    assert [len(entry.events) for entry in data_manager.entries.values()] == [2, 1]
    assert data_manager.uploads[0].client == "client"


def test_a_second_event_overwrites_the_value_and_the_count_stays(data_manager, ingest) -> None:
    ingest(event(1))
    ingest(event(1, conversionValue=4.25, currency="EUR"), event(2, conversionValue=1))
    ingest(event(2, conversionValue=9), validateOnly=True)
    ingest(event(2, conversionValue=9, adIdentifiers={"gclid": "FAIL-INTERNAL_ERROR-1"}))

    assert data_manager.values_of("oci_1") == [(4.25, "EUR")]
    assert data_manager.values_of("oci_2") == [(1, "TRY")]
    assert len(data_manager.counted) == 2


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"transactionId": ""}, ("events.events[1].transaction_id", "REQUIRED_FIELD_MISSING")),
        ({"transactionId": "123"}, ("events[1]", "")),
        ({"eventTimestamp": "2026-01-01"}, ("events.events[1].event_timestamp", "EVENT_TIME_INVALID")),
        ({"adIdentifiers": {}}, ("events.events[1]", "NO_IDENTIFIERS_PROVIDED")),
        ({"currency": "lira"}, ("events.events[1].currency", "INVALID_CURRENCY_CODE")),
        ({"eventSource": None}, ("events.events[1].event_source", "REQUIRED_FIELD_MISSING")),
        ({"eventSource": "SHOP"}, ("events.events[1].event_source", "INVALID_ENUM_VALUE")),
        ({"consent": {"adUserData": "GRANTED"}}, ("events.events[1].consent.ad_user_data", "INVALID_ENUM_VALUE")),
        ({"destinationReferences": ["b"]}, ("events.events[1].destination_references", "INVALID_DESTINATION")),
        ({"transaction_id": "x"}, ("events.events[1]", "")),
        (
            {"adIdentifiers": {"gclid": "REFUSE-INVALID_FORMAT-1"}},
            ("events.events[1].ad_identifiers", "INVALID_FORMAT"),
        ),
    ],
)
def test_one_bad_event_refuses_the_request(data_manager, ingest, columns, named) -> None:
    answer = ingest(event(0), event(1, **columns))

    assert answer.status_code == 400
    assert reasons(answer) == [named]
    assert not data_manager.entries


def test_a_future_time_is_refused_without_a_name(ingest) -> None:
    answer = ingest(event(0, eventTimestamp=(datetime.now(UTC) + timedelta(days=1)).isoformat()))

    assert answer.status_code == 400
    assert reasons(answer) == []


def test_a_request_that_is_too_large_or_for_an_unknown_action(data_manager, ingest) -> None:
    assert reasons(ingest(*[event(0)] * 2001)) == [("events", "TOO_MANY_EVENTS")]

    data_manager.unknown_actions = {"7"}
    assert ingest(event(0)).status_code == 404


def test_validation_takes_nothing_and_misses_numeric_ids(data_manager, ingest, ask) -> None:
    answer = ingest(event(0, transactionId="123"), validateOnly=True)

    assert answer.status_code == 200
    assert not data_manager.entries
    assert reasons(ask(answer.json()["requestId"])) == [("request_id", "INVALID_REQUEST_ID")]


def test_a_status_names_rows_by_their_place(ingest, ask) -> None:
    taken = ingest(*clicks("good", "FAIL-CLICK_NOT_FOUND-1", "FAIL-EVENT_TOO_OLD-2", "FAIL-CLICK_NOT_FOUND-3"))

    status = outcome(ask(taken.json()["requestId"]))

    assert status["requestStatus"] == "PARTIAL_SUCCESS"
    assert status["eventsIngestionStatus"] == {"recordCount": "4"}
    assert status["errorInfo"]["errorCounts"] == [
        {"reason": "PROCESSING_ERROR_REASON_CLICK_NOT_FOUND", "recordCount": "2", "recordIndices": [1, 3]},
        {"reason": "PROCESSING_ERROR_REASON_EVENT_TOO_OLD", "recordCount": "1", "recordIndices": [2]},
    ]


def test_a_status_can_be_pending_and_wrong(data_manager, ingest, ask) -> None:
    taken = ingest(*clicks("good", "FAIL-INVALID_GCLID-1", "FAIL-INVALID_GCLID-2")).json()["requestId"]

    data_manager.processing = 1
    assert outcome(ask(taken))["requestStatus"] == "PROCESSING"

    data_manager.change = without_indices
    assert "recordIndices" not in outcome(ask(taken))["errorInfo"]["errorCounts"][0]

    data_manager.change = descending
    assert outcome(ask(taken))["errorInfo"]["errorCounts"][0]["recordIndices"] == [2, 1]

    data_manager.change = success_with_errors
    assert outcome(ask(taken))["requestStatus"] == "SUCCESS"


@pytest.mark.parametrize(
    ("refusal", "status", "reason"),
    [
        (refusals.unauthenticated(), 401, "ACCESS_TOKEN_EXPIRED"),
        (refusals.service_disabled(), 403, "SERVICE_DISABLED"),
        (refusals.scope_insufficient(), 403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"),
        (refusals.permission_denied(), 403, "PERMISSION_DENIED"),
        (refusals.exhausted(retry_after=7), 429, "RATE_LIMIT_EXCEEDED"),
        (refusals.GoogleRefusal("UNAVAILABLE"), 503, "UNAVAILABLE"),
    ],
)
def test_scripted_refusals(data_manager, ingest, refusal, status, reason) -> None:
    data_manager.replies.append(refuse(refusal))

    answer = ingest(event(0))

    assert answer.status_code == status
    assert answer.json()["error"]["details"][0]["reason"] == reason
    assert ingest(event(0)).status_code == 200


def test_a_connection_is_cut_before_or_after_the_request_is_taken(data_manager, ingest) -> None:
    data_manager.replies.extend([cut_before, cut_after])

    with pytest.raises(requests.ConnectionError):
        ingest(event(1))
    with pytest.raises(requests.ConnectionError):
        ingest(event(2))
    assert data_manager.applied == {"oci_2"}


def test_calls_need_a_token_and_fit_into_the_quota(data_manager, ingest, login) -> None:
    login["Authorization"] = "Bearer another"
    assert ingest(event(0)).status_code == 401

    login["Authorization"] = "Bearer a-token.client"
    data_manager.quota = 1
    assert [ingest(event(0)).status_code, ingest(event(0)).status_code] == [200, 429]


def test_refusals_by_click_id(data_manager, ingest) -> None:
    data_manager.refusals["click-1"] = Violation("conversion_value", "INVALID_NUMBER_FORMAT")
    data_manager.most_violations = 1

    answer = ingest(event(0), event(1), event(2, adIdentifiers={"gclid": "click-1"}))

    assert reasons(answer) == [("events.events[1].conversion_value", "INVALID_NUMBER_FORMAT")]


def test_a_request_id_can_describe_a_request_that_was_taken_elsewhere(ask) -> None:
    status = outcome(ask("TAKEN-4-CLICK_NOT_FOUND-TOO_RECENT_CLICK"))

    assert status["requestStatus"] == "PARTIAL_SUCCESS"
    assert status["eventsIngestionStatus"] == {"recordCount": "4"}
    assert [count["recordIndices"] for count in status["errorInfo"]["errorCounts"]] == [[2], [3]]
