"""A source key that is sent again: corrected, a duplicate, or a duplicate that differs."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from kilit.lock.audit import acting_as
from kilit.lock.models import Event
from ociqueue.files.conversions import ImportTally
from ociqueue.intake.corrections import Correction, replace_rows
from ociqueue.intake.enqueue import enqueue
from ociqueue.models import Conversion, ConversionKey, Site
from tests.support.conversions import YESTERDAY
from tests.support.imports import import_file
from tests.support.redelivered import ORDER, claim, fail, only, send

pytestmark = pytest.mark.django_db


def test_the_trial_of_a_failed_conversion_that_is_corrected_by_its_source_key(api, site) -> None:
    """It failed with a broken click id; the shop sends the order again, with the right one."""
    broken = {**ORDER, "conversionTime": YESTERDAY, "gclid": "broken"}
    body = {"siteId": site.public_id, "conversions": [broken]}
    first = api.post("oci/conversions", body).json()["results"][0]["id"]
    api.claim(site)
    failure = {
        "siteId": site.public_id,
        "queueIds": [first],
        "errorCode": "INVALID_GCLID",
        "errorCategory": "VALIDATION",
    }
    api.post("oci/ack-failed", failure)

    unchanged = api.post("oci/conversions", body).json()
    corrected = api.post("oci/conversions", {**body, "conversions": [{**broken, "gclid": "Cj0KCQ-right"}]}).json()
    repeated = api.post("oci/conversions", {**body, "conversions": [{**broken, "gclid": "Cj0KCQ-right"}]}).json()

    assert unchanged["results"] == [{"index": 0, "status": "duplicate", "id": first}]
    copy = only(gclid="Cj0KCQ-right")
    assert (corrected["created"], corrected["corrected"], corrected["duplicates"]) == (0, 1, 0)
    assert corrected["results"] == [
        {
            "index": 0,
            "status": "corrected",
            "id": str(copy),
            "replaces": first,
            "differs": ["gclid"],
            "state": "QUEUED",
        }
    ]
    assert repeated["results"] == [{"index": 0, "status": "duplicate", "id": str(copy)}]
    original = copy.replaces
    assert (str(original), original.status, original.gclid, original.is_replaced) == (first, "FAILED", "broken", True)
    assert (copy.order_id, copy.source_key) == (original.order_id, None)
    assert [item["id"] for item in api.claim(site)] == [str(copy)]
    assert Event.objects.of(original).last().details == {"replaced_by": str(copy)}
    assert Event.objects.of(copy)[1].details == {"replaces": first}


def test_the_source_key_still_belongs_to_one_row_in_the_database(site) -> None:
    send(site, gclid="broken")
    fail()
    send(site)

    assert ConversionKey.objects.exclude(source_key=None).count() == 1
    with (
        pytest.raises(IntegrityError, match="one_key_per_source_key"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "INSERT INTO offline_conversion_queue SELECT (jsonb_populate_record(c, jsonb_build_object('id',"
            " gen_random_uuid(), 'status', 'QUEUED', 'claimed_at', NULL, 'is_replaced', false))).*"
            " FROM offline_conversion_queue c WHERE source_key IS NOT NULL"
        )


def test_a_failed_correction_is_corrected_again_and_old_data_changes_nothing(site) -> None:
    send(site, gclid="broken")
    fail()
    send(site, gclid="broken-too")
    second = fail()

    old = send(site, gclid="broken")
    third = send(site, gclid="Cj0KCQ-right")

    assert old == {"index": 0, "status": "duplicate", "id": str(second)}
    assert (third["status"], third["replaces"]) == ("corrected", str(second))
    assert Conversion.objects.count() == 3


def test_a_waiting_row_is_corrected_in_place_with_an_event_that_names_what_changed(site) -> None:
    row = only(pk=send(site)["id"].removeprefix("seal_"))

    with acting_as("key:site-shop"):
        result = send(site, gclid="Cj0KCQ-other", conversionValue="99", consentAdUserData="GRANTED")

    fields = ["gclid", "conversionValue", "consentAdUserData"]
    assert result == {"index": 0, "status": "corrected", "id": str(row), "differs": fields, "state": "QUEUED"}
    changed = only()
    assert (changed.gclid, float(changed.value), changed.consent_ad_user_data) == ("Cj0KCQ-other", 99, "GRANTED")
    assert (changed.order_id, changed.key.click_id) == (row.order_id, "Cj0KCQ-other")
    event = Event.objects.of(row).last()
    assert (event.event_type, event.actor, event.details["changed"]) == ("CORRECTED", "key:site-shop", fields)
    assert event.details["before"] == {"conversionValue": "120.500", "consentAdUserData": "UNSPECIFIED"}
    assert event.details["after"] == {"conversionValue": "99.00", "consentAdUserData": "GRANTED"}
    assert "Cj0KCQ" not in str(event.details), "an event outlives an erasure"


def complete() -> None:
    claim()
    Conversion.objects.all().move("ack")


def leave_unknown() -> None:
    fail(category="TRANSIENT", code="UPLOAD_EXCEPTION")


def wait_unknown() -> None:
    claim()
    Conversion.objects.update(claimed_at="2026-01-01T00:00Z")
    Conversion.objects.recover()


@pytest.mark.parametrize(
    ("prepare", "state"),
    [(claim, "PROCESSING"), (complete, "COMPLETED"), (leave_unknown, "FAILED"), (wait_unknown, "RETRY")],
)
def test_what_google_may_have_stays_and_the_answer_names_what_differs(site, prepare: Callable[[], None], state) -> None:
    first = send(site)["id"]
    prepare()

    result = send(site, gclid="Cj0KCQ-other", conversionTime=YESTERDAY.replace("10:00:00", "11:00:00"))

    differs = ["gclid", "conversionTime"]
    assert result == {"index": 0, "status": "duplicate", "id": first, "differs": differs, "state": state}
    assert only().gclid == ORDER["gclid"]
    assert send(site) == {"index": 0, "status": "duplicate", "id": first}


@pytest.mark.parametrize("code", ["ORDER_ID_ALREADY_IN_USE", "CLICK_CONVERSION_ALREADY_EXISTS"])
def test_what_google_counted_before_is_sent_again_only_by_an_operator_who_was_warned(site, code) -> None:
    """It may have been this very conversion, which would then count twice."""
    send(site)
    counted = fail(code=code)

    result, tally = send(site, gclid="Cj0KCQ-other"), load(site, gclid="Cj0KCQ-other")
    (by_file,) = replace_rows(site, [Correction(str(counted), {"gclid": "Cj0KCQ-other"})])
    (unchanged,) = replace_rows(site, [Correction(str(counted), {"gclid": counted.gclid})])

    assert result == {
        "index": 0,
        "status": "duplicate",
        "id": str(counted),
        "differs": ["gclid"],
        "state": "FAILED",
    }
    assert (tally.corrected, tally.duplicates, tally.differing_lines) == (0, 1, 1)
    assert "may count twice; correct it on its page" in by_file.message
    assert unchanged.is_unchanged
    assert Conversion.objects.count() == 1
    changes = {"gclid": "Cj0KCQ-other"}
    (warned,) = replace_rows(site, [Correction(str(counted), changes, may_count_twice=True)])
    is_same_id = only(replaces=counted).order_id == counted.order_id
    assert warned.copy
    assert is_same_id == (code != "ORDER_ID_ALREADY_IN_USE"), "Google refuses the counted order id every time"


def test_what_is_left_out_keeps_what_was_said_before(site) -> None:
    Site.objects.update(accepts_identifiers=True)
    site.refresh_from_db()
    send(site, consent="DENIED", email="ada@example.com")
    fail()

    assert send(site)["status"] == "duplicate", "nothing else was said"
    send(site, gclid="Cj0KCQ-other")

    copy = only(gclid="Cj0KCQ-other")
    assert (copy.consent_ad_user_data, copy.consent_ad_personalization) == ("DENIED", "DENIED")
    assert copy.hashed_email == copy.replaces.hashed_email != ""


def test_old_data_of_the_source_does_not_undo_an_operators_correction(site) -> None:
    row = only(pk=send(site)["id"].removeprefix("seal_"))
    with acting_as("operator:ayse"):
        (result,) = replace_rows(site, [Correction(str(row), {"gclid": "Cj0KCQ-operator"})])
    assert result.message == "corrected"

    again = send(site)

    assert (again["status"], again["differs"]) == ("duplicate", ["gclid"])
    assert only().gclid == "Cj0KCQ-operator"
    assert send(site, gclid="Cj0KCQ-newer")["status"] == "corrected", "new data is"


def test_a_key_twice_in_one_request_ends_with_the_last(site) -> None:
    results = enqueue(site, [ORDER, {**ORDER, "conversionValue": 7}, {**ORDER, "conversionValue": 8}])

    assert [result["status"] for result in results] == ["created", "corrected", "corrected"]
    assert only().value == 8


def test_a_dry_run_says_corrected_and_changes_nothing(site) -> None:
    send(site, gclid="broken")
    failed = fail()

    (result,) = enqueue(site, [ORDER], dry_run=True)

    assert (result["status"], result["id"], result["differs"]) == ("corrected", str(failed), ["gclid"])
    assert (Conversion.objects.count(), only().is_replaced) == (1, False)


def test_duplicates_of_a_whole_request_take_few_statements(site, django_assert_max_num_queries) -> None:
    orders = [{**ORDER, "sourceKey": f"order-{number}"} for number in range(50)]
    enqueue(site, orders)

    with django_assert_max_num_queries(10):
        enqueue(site, orders)
    with django_assert_max_num_queries(30):
        results = enqueue(site, [{**order, "conversionValue": 5} for order in orders])
    assert {result["status"] for result in results} == {"corrected"}


# The same from a file


def load(site: Site, *, dry_run: bool = False, **changes: Any) -> ImportTally:
    cells = {**ORDER, **changes}
    file = f"{','.join(cells)}\n{','.join(cells.values())}\n"
    return import_file(site, file.encode(), dry_run=dry_run)


def test_a_file_corrects_a_failed_conversion_by_its_source_key(site) -> None:
    load(site, gclid="broken")
    failed = fail()

    planned, done = load(site, dry_run=True), load(site)

    assert (planned.corrected, done.corrected, done.created, done.duplicates) == (1, 1, 0, 0)
    assert "1 line corrects a conversion that failed or waits." in done.summary(dry_run=False)
    assert only(replaces=failed).gclid == ORDER["gclid"]


def test_a_file_names_another_click_id_of_a_conversion_in_flight(site) -> None:
    load(site)
    claim()

    tally = load(site, gclid="Cj0KCQ-other")

    assert (tally.corrected, tally.duplicates, tally.differing_lines) == (0, 1, 1)
    (field,) = tally.differing[0].fields
    assert str(field) == "line 2: gclid “Cj0KCQ-other”: Already imported with another value."
