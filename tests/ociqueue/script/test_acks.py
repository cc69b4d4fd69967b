"""Acknowledgements: what they change, what they leave alone, and that they say so."""

import time
from uuid import uuid4

import pytest

from kilit.lock.models import Event
from ociqueue.models import Conversion
from tests.support.api import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def row(api, site, make_conversion) -> Conversion:
    """A row that the script has."""
    row = make_conversion(site)
    api.claim(site)
    return row


def test_ack_completes_claimed_rows_and_leaves_uploaded_at_empty(api, site, row) -> None:
    answer = api.post("oci/ack", {"siteId": site.public_id, "queueIds": [str(row)]})

    row.refresh_from_db()
    assert answer.json() == {"ok": True, "updated": 1, "ignored": []}
    assert (row.status, row.uploaded_at, row.attempt_count) == ("COMPLETED", None, 1)


def test_a_replayed_ack_changes_nothing_and_says_so(api, site, row) -> None:
    body = {"siteId": site.public_id, "queueIds": [str(row)]}
    api.post("oci/ack", body)
    events = Event.objects.of(row).count()

    answer = api.post("oci/ack", body)

    assert answer.json() == {"ok": True, "updated": 0, "ignored": [{"id": str(row), "status": "COMPLETED"}]}
    assert Event.objects.of(row).count() == events


def test_a_late_ack_changes_nothing_and_leaves_an_event(api, site, row) -> None:
    Conversion.objects.update(claimed_at="2026-01-01T00:00Z")
    Conversion.objects.recover()

    answer = api.post("oci/ack", {"siteId": site.public_id, "queueIds": [str(row)]})

    row.refresh_from_db()
    assert answer.json() == {"ok": True, "updated": 0, "ignored": [{"id": str(row), "status": "RETRY"}]}
    assert row.status == "RETRY"
    late = Event.objects.of(row).last()
    assert (late.event_type, late.from_state, late.to_state) == ("LATE_ACK", "RETRY", "RETRY")
    assert late.actor.startswith("key:site-")


def test_an_ack_ends_the_doubt_about_an_earlier_claim(api, site, row) -> None:
    """A script died and the next one said that it uploaded; nothing is unknown of a COMPLETED row."""
    Conversion.objects.update(claimed_at="2026-01-01T00:00Z")
    Conversion.objects.recover()
    row.refresh_from_db()
    assert row.outcome_unknown
    api.claim(site)

    api.post("oci/ack", {"siteId": site.public_id, "queueIds": [str(row)]})

    row.refresh_from_db()
    assert (row.status, row.outcome_unknown) == ("COMPLETED", False)


def test_a_late_ack_failed_of_a_completed_row_leaves_it_completed(api, site, row) -> None:
    api.post("oci/ack", {"siteId": site.public_id, "queueIds": [str(row)]})

    answer = api.post(
        "oci/ack-failed", {"siteId": site.public_id, "queueIds": [str(row)], "errorCategory": "VALIDATION"}
    )

    row.refresh_from_db()
    assert answer.json()["ignored"] == [{"id": str(row), "status": "COMPLETED"}]
    assert row.status == "COMPLETED"
    assert Event.objects.of(row).last().event_type == "LATE_ACK_FAILED"


@pytest.mark.parametrize(("category", "in_doubt"), [("TRANSIENT", True), ("VALIDATION", False), ("AUTH", False)])
def test_an_upload_that_threw_leaves_its_rows_in_doubt(api, site, row, category: str, in_doubt) -> None:
    """`apply()` may throw after Google took the rows; a duplicate afterwards must not fail them."""
    api.post("oci/ack-failed", {"siteId": site.public_id, "queueIds": [str(row)], "errorCategory": category})

    row.refresh_from_db()
    assert (row.status, row.outcome_unknown) == ("FAILED", in_doubt)


def test_ids_that_do_not_exist_are_reported_as_such(api, site) -> None:
    unknown = f"seal_{uuid4()}"

    answer = api.post("oci/ack", {"siteId": site.public_id, "queueIds": [unknown]})

    assert answer.json() == {"ok": True, "updated": 0, "ignored": [{"id": unknown, "status": "NOT_FOUND"}]}


def test_bare_uuids_are_taken_too_and_an_id_named_twice_counts_once(api, site, row) -> None:
    assert api.post("oci/ack", {"siteId": str(site.pk), "queueIds": [str(row.pk), str(row)]}).json()["updated"] == 1


def test_skipped_rows_fail_for_good_and_the_others_complete(api, site, make_conversion) -> None:
    done, skipped = make_conversion(site), make_conversion(site)
    api.claim(site)

    answer = api.post(
        "oci/ack",
        {"siteId": site.public_id, "queueIds": [str(done)], "skippedIds": [str(skipped)], "scriptVersion": "v1"},
    )

    done.refresh_from_db()
    skipped.refresh_from_db()
    assert answer.json()["updated"] == 2
    assert done.status == "COMPLETED"
    assert (skipped.status, skipped.provider_error_code, skipped.provider_error_category) == (
        "FAILED",
        "SKIPPED_BY_SCRIPT",
        "PERMANENT",
    )


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("oci/ack", {"queueIds": []}, "siteId"),
        ("oci/ack", {"siteId": "S"}, "queueIds"),
        ("oci/ack", {"siteId": "S", "queueIds": "seal_1"}, "queueIds"),
        ("oci/ack", {"siteId": "S", "queueIds": ["seal_1"] * 10_001}, "queueIds"),
        ("oci/ack", {"siteId": ["S"], "queueIds": []}, "siteId"),
        ("oci/ack", [], ""),
        ("oci/ack-failed", {"siteId": "S", "queueIds": [], "errorCategory": "PERMANENT"}, "errorCategory"),
        ("oci/ack-failed", {"siteId": "S", "queueIds": [], "errorCategory": "\ud800"}, "errorCategory"),
    ],
)
def test_a_bad_body_is_refused_by_the_name_of_its_field(api, path: str, body, field: str) -> None:
    answer = api.post(path, body)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "VALIDATION"
    assert answer.json()["error"]["fields"][0]["field"] == field


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("nul \x00 half \ud800", "nul  half ?"),
        ("ğ" * 5000, "ğ" * 1000),
        (None, ""),
        (["a", 1], '["a",1]'),
        ("x" * 20_000, "x" * 1000),
        (7, "7"),
    ],
)
def test_no_error_message_can_lose_the_report(api, site, row, sent, kept: str) -> None:
    answer = api.post(
        "oci/ack-failed",
        {"siteId": site.public_id, "queueIds": [str(row)], "errorCategory": "AUTH", "errorMessage": sent},
    )

    row.refresh_from_db()
    assert answer.json()["updated"] == 1
    assert row.last_error == kept


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (None, "VALIDATION_FAILED"),
        ("", "VALIDATION_FAILED"),
        (" \x00 ", "VALIDATION_FAILED"),
        ({"code": 1}, "VALIDATION_FAILED"),
        ([True], "VALIDATION_FAILED"),
        (True, "VALIDATION_FAILED"),
        (404, "404"),
        ("A\nB\ud800", "A B"),
        ("X" * 65, "X" * 64),
    ],
)
def test_no_error_code_can_lose_the_report(api, site, row, sent, kept: str) -> None:
    answer = api.post("oci/ack-failed", {"siteId": site.public_id, "queueIds": [str(row), "no-id"], "errorCode": sent})

    row.refresh_from_db()
    assert answer.json() == {"ok": True, "updated": 1, "ignored": [{"id": "no-id", "status": "INVALID_ID"}]}
    assert (row.status, row.provider_error_code) == ("FAILED", kept)


def test_null_is_as_good_as_absent(api, site, row) -> None:
    answer = api.post("oci/ack", {"siteId": site.public_id, "queueIds": [str(row)], "skippedIds": None})

    assert answer.json()["updated"] == 1


def test_the_handshake_opens_the_three_script_endpoints(api, site, make_conversion) -> None:
    row = make_conversion(site)

    session = api.post("oci/v2/verify", {"siteId": site.public_id}).json()
    script = Api()
    script.headers = {"authorization": f"Bearer {session['session_token']}"}

    assert set(session) == {"session_token", "expires_at"}
    assert [item["id"] for item in script.claim(site)] == [str(row)]
    assert script.post("oci/ack", {"siteId": site.public_id, "queueIds": [str(row)]}).json()["updated"] == 1
    # It is handed to a script that others can read.
    for path in ("oci/conversions", "oci/adjustments", "oci/conversions/lookup"):
        assert script.post(path, {"siteId": site.public_id}).status_code == 401
    for path in ("oci/conversions", "oci/conversions/export"):
        assert script.get(path, siteId=site.public_id).status_code == 401


def test_a_session_opens_its_site_only_and_ends_with_its_key(site, make_site, site_key, make_person) -> None:
    other = make_site(name="Other")
    key = site_key(site)
    other.memberships.create(user=site.service_user(), role="operator")
    token = Api(key).post("oci/v2/verify", {"siteId": site.public_id}).json()["session_token"]
    script = Api()
    script.headers = {"authorization": f"Bearer {token}"}

    assert script.get("oci/google-ads-export", siteId=site.public_id).status_code == 200
    assert script.get("oci/google-ads-export", siteId=other.public_id).status_code == 404
    site.service_user().api_keys.all().revoke()
    assert script.get("oci/google-ads-export", siteId=site.public_id).status_code == 401


def test_a_session_ends_after_45_minutes(api, site, monkeypatch) -> None:
    start = int(time.time())
    monkeypatch.setattr("django.core.signing.time.time", lambda: start)
    token = api.post("oci/v2/verify", {"siteId": site.public_id}).json()["session_token"]
    script = Api()
    script.headers = {"authorization": f"Bearer {token}"}

    for seconds, status in ((45 * 60, 200), (45 * 60 + 1, 401)):
        monkeypatch.setattr("django.core.signing.time.time", lambda: start + seconds)  # noqa: B023 - called in this turn
        assert script.get("oci/google-ads-export", siteId=site.public_id).status_code == status
