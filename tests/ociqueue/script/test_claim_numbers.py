"""Reports of deployed scripts: claim numbers, invalid ids and missing categories."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kilit.lock.models import Event
from ociqueue.models import Conversion, Site
from ociqueue.operating.site_health import site_health
from tests.support.api import Api
from tests.support.conversions import new_conversion

pytestmark = pytest.mark.django_db


def claim_again(api: Api, site: Site) -> list[dict[str, Any]]:
    """Let the sweep take the rows back from a script that died, and another run claim them."""
    Conversion.objects.update(claimed_at="2026-01-01T00:00Z")
    Conversion.objects.recover()
    return api.claim(site)


def report(site: Site, *items: dict[str, Any], **body: Any) -> dict[str, Any]:
    claims = {item["id"]: item["claim"] for item in items}
    return {"siteId": site.public_id, "queueIds": list(claims), "claims": claims, **body}


def test_the_trial_of_a_deployed_script_that_skips_misnames_and_fails_rows(api, site) -> None:
    """The sequence of a script in the field: skipped rows, a truncated id, a failure without a category."""
    Conversion.objects.bulk_create([new_conversion(site) for _ in range(10)])
    ids = [item["id"] for item in api.claim(site)]
    sent, skipped, failed = ids[:6], ids[6:9], ids[9]

    acked = api.post("oci/ack", {"siteId": site.public_id, "queueIds": [*sent, "seal_1", None], "skippedIds": skipped})
    refused = api.post("oci/ack-failed", {"siteId": site.public_id, "queueIds": [failed, {}]})

    invalid = [{"id": "seal_1", "status": "INVALID_ID"}, {"id": "null", "status": "INVALID_ID"}]
    assert (acked.status_code, acked.json()) == (200, {"ok": True, "updated": 9, "ignored": invalid})
    assert refused.json() == {"ok": True, "updated": 1, "ignored": [{"id": "{}", "status": "INVALID_ID"}]}
    row = Conversion.objects.get(pk=failed.removeprefix("seal_"))
    assert (row.status, row.provider_error_code, row.provider_error_category) == (
        "FAILED",
        "VALIDATION_FAILED",
        "VALIDATION",
    )
    assert not row.outcome_unknown
    # Of what was to be sent one of seven failed: what was skipped is no failure.
    assert site_health([site])[site.pk].error_rate == round(1 / 7, 4)


def test_each_claim_has_a_number_and_a_preview_has_none(api, site, make_conversion) -> None:
    make_conversion(site)

    preview = api.get("oci/google-ads-export", siteId=site.public_id).json()
    first, second = api.claim(site), claim_again(api, site)

    assert [item["claim"] for item in first + second] == [1, 2]
    assert "claim" not in preview["items"][0]


@pytest.mark.parametrize(("path", "event"), [("oci/ack", "LATE_ACK"), ("oci/ack-failed", "LATE_ACK_FAILED")])
def test_a_report_of_an_older_claim_does_not_end_the_newer_one(api, site, make_conversion, path, event) -> None:
    row = make_conversion(site)
    (old,) = api.claim(site)
    (new,) = claim_again(api, site)

    late = api.post(path, report(site, old))

    assert late.json() == {"ok": True, "updated": 0, "ignored": [{"id": str(row), "status": "PROCESSING"}]}
    assert Event.objects.of(row).last().event_type == event
    row.refresh_from_db()
    assert (row.status, row.provider_error_code) == ("PROCESSING", "")
    assert api.post("oci/ack", report(site, new)).json()["updated"] == 1


def test_claims_of_different_numbers_are_compared_row_by_row(api, site, make_conversion) -> None:
    again = make_conversion(site)
    (old,) = api.claim(site)
    (second,) = claim_again(api, site)
    assert second["id"] == str(again)
    fresh, unnumbered = make_conversion(site), make_conversion(site)
    items = {item["id"]: item for item in api.claim(site)}

    body = report(site, old, items[str(fresh)], items[str(unnumbered)])
    body["claims"] = {str(again): 2, str(fresh.pk): 2}
    mixed = api.post("oci/ack", body).json()
    body["claims"] = {str(fresh): 1, str(again): 3}
    rest = api.post("oci/ack", body).json()

    assert (mixed["updated"], mixed["ignored"]) == (2, [{"id": str(fresh), "status": "PROCESSING"}])
    assert rest["updated"] == 1


@pytest.mark.parametrize(
    "claims", [None, [], "1", {"seal_1": 1}, {"ID": "1"}, {"ID": True}, {"ID": 0}, {"ID": 10**12}, {"ID": 1.5}]
)
def test_what_is_no_claim_number_is_as_good_as_none(api, site, make_conversion, claims: Any) -> None:
    row = make_conversion(site)
    api.claim(site)
    if isinstance(claims, dict):
        claims = {key.replace("ID", str(row)): number for key, number in claims.items()}

    answer = api.post("oci/ack", {"siteId": site.public_id, "queueIds": [str(row)], "claims": claims})

    assert answer.json()["updated"] == 1


def test_a_skipped_row_of_an_older_claim_is_left_to_the_newer_one(api, site, make_conversion) -> None:
    make_conversion(site)
    (old,) = api.claim(site)
    claim_again(api, site)

    answer = api.post("oci/ack", {**report(site, old), "queueIds": [], "skippedIds": [old["id"]]})

    assert (answer.json()["updated"], Conversion.objects.get().status) == (0, "PROCESSING")


@pytest.mark.parametrize("path", ["oci/ack", "oci/ack-failed"])
def test_rows_with_as_many_claim_numbers_are_settled_by_one_statement(api, site, settings, path: str) -> None:
    settings.SCRIPT_MAX_ATTEMPTS = 100
    Conversion.objects.bulk_create([new_conversion(site, attempt_count=n) for n in range(30)])
    items = api.claim(site)
    assert sorted(item["claim"] for item in items) == list(range(1, 31))

    with CaptureQueriesContext(connection) as queries:
        settled = api.post(path, report(site, *items)).json()

    assert settled == {"ok": True, "updated": 30, "ignored": []}
    updates = [query["sql"] for query in queries if 'UPDATE "offline_conversion_queue"' in query["sql"]]
    assert len(updates) == 1
