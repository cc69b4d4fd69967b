"""What a script says about one row may quote another: it is masked where it comes in and goes out, and erased."""

from typing import Any

import pytest

from kilit.api.webhooks import webhook_kinds
from kilit.lock import free_text
from kilit.lock.models import Event
from kilit.masking import mask_identifiers
from ociqueue.models import Conversion, IdentifierKind, Site
from ociqueue.operating import erasure
from ociqueue.operating.erasure import Person, forget
from tests.support.all_columns import columns_with
from tests.support.conversions import make_completed, make_failed, new_conversion
from tests.support.erasure import EMAIL, GCLID, PHONE

pytestmark = pytest.mark.django_db
OTHER = "Cj0KCQ-of-somebody-else"


def erase(kind: IdentifierKind, text: str, *sites: Site) -> None:
    list(forget(Person(kind, text), sites or list(Site.objects.all())))


def test_a_click_id_in_the_report_of_another_row_is_erased_and_the_row_stays(site) -> None:
    make_completed(site, gclid=GCLID)
    (row,) = make_failed(site, gclid=OTHER, message=f"of {GCLID}")

    erase(IdentifierKind.CLICK_ID, GCLID)

    after = Conversion.objects.get(pk=row.pk)
    assert (after.last_error, after.gclid, after.erased_at, after.error_group) == ("of …", OTHER, None, row.error_group)
    assert columns_with(GCLID) == []


def test_what_no_row_has_any_more_is_erased_from_texts(site) -> None:
    make_failed(site, gclid=OTHER, message=f"of {GCLID}")

    erase(IdentifierKind.CLICK_ID, GCLID)

    assert columns_with(GCLID) == []


def test_texts_of_other_sites_stay_unless_they_are_searched(site, make_site) -> None:
    other = make_site(name="other")
    for each in (site, other):
        make_failed(each, gclid=OTHER, message=f"of {EMAIL}")

    erase(IdentifierKind.EMAIL, EMAIL, site)

    texts = dict(Conversion.objects.values_list("site", "last_error"))
    assert texts == {site.pk: "of …", other.pk: f"of {EMAIL}"}
    quoting = Event.objects.filter(details__last_error=f"of {EMAIL}").values_list("object_id", flat=True)
    assert set(quoting) == set(Conversion.objects.filter(site=other).values_list("pk", flat=True))


def test_an_order_id_is_erased_at_other_rows_and_its_own_row_keeps_it(site) -> None:
    own = make_completed(site, gclid=GCLID, source_key="order-7")
    (row,) = make_failed(site, gclid=OTHER, message="as order-7, not order-77")

    erase(IdentifierKind.ORDER_ID, "order-7")

    assert Conversion.objects.get(pk=row.pk).last_error == "as …, not order-77"
    assert Conversion.objects.get(pk=own.pk).source_key == "order-7"


def test_a_short_order_id_is_a_number_of_other_texts_and_stays_there(site) -> None:
    make_completed(site, gclid=GCLID, source_key="90")
    (row,) = make_failed(site, gclid=OTHER, message="older than 90 days")

    erase(IdentifierKind.ORDER_ID, "90")

    assert Conversion.objects.get(pk=row.pk).last_error == "older than 90 days"


def test_all_texts_are_read_batch_by_batch(site, monkeypatch) -> None:
    monkeypatch.setattr(free_text, "BATCH", 2)
    for number in range(5):
        make_failed(site, gclid=f"{OTHER}-{number}", message=f"{number} of {GCLID}")

    erase(IdentifierKind.CLICK_ID, GCLID)

    assert columns_with(GCLID) == []


def test_a_run_that_stops_while_it_reads_texts_can_be_repeated(site, monkeypatch) -> None:
    own = make_completed(site, gclid=GCLID, hashed_email="a" * 64)
    make_failed(site, gclid=OTHER, message=f"of {GCLID}")
    monkeypatch.setattr(erasure, "scrub_jobs", _stop)
    with pytest.raises(KeyboardInterrupt):
        erase(IdentifierKind.ORDER_ID, own.order_id)
    monkeypatch.undo()
    assert Conversion.objects.get(pk=own.pk).gclid == GCLID, "what texts are searched for is still known"

    erase(IdentifierKind.ORDER_ID, own.order_id)

    assert columns_with(GCLID) == []


def _stop(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_what_a_script_reports_is_stored_without_identifiers(api, site) -> None:
    (row,) = api_rows(api, site)
    failure = {"errorCode": EMAIL, "errorMessage": f"INVALID_GCLID {GCLID} of {EMAIL}, {PHONE}: line 7"}

    api.post("oci/ack-failed", {"siteId": site.public_id, "queueIds": [row], **failure})

    stored = Conversion.objects.get()
    assert stored.last_error == "INVALID_GCLID … of J…@gmail.com, …4567: line 7"
    assert columns_with(GCLID, EMAIL, PHONE) == []


def api_rows(api: Any, site: Site) -> list[str]:
    new_conversion(site, gclid=OTHER).save()
    return [item["id"] for item in api.claim(site)]


def test_webhooks_and_lookups_hide_the_click_ids_of_other_rows(api, site) -> None:
    (row,) = make_failed(site, gclid=OTHER, message=f"{OTHER} or {GCLID} of {EMAIL}")

    (sent,) = (
        webhook_kinds["conversion.failed"].describe(list(Event.objects.of(row).filter(to_state="FAILED"))).values()
    )
    found = api.get("oci/conversions", siteId=site.public_id, id=str(row)).json()["conversions"]

    assert sent.data["error_message"] == "… or … of J…@gmail.com"
    assert found[0]["error"]["message"] == "… or … of J…@gmail.com"


@pytest.mark.parametrize(
    "text",
    [
        "INVALID_CONVERSION_ACTION_TYPE_2 for offlineConversionUploadConversionActionSummary",
        "seal_01936f2e-8a41-7c3e-9d50-6b1f0e2a4c77 has oci_b7a1e0c94d2fb7a1e0c94d2fb7a1e0c94d2fb7a1",
        "Expected yyyy-mm-dd HH:mm:ss±HH:mm, found 2026-11-18 01:06:02+03:00",
    ],
)
def test_codes_ids_and_times_are_no_click_ids(text: str) -> None:
    assert mask_identifiers(text) == text


def test_the_last_batch_of_many_texts_is_found_by_no_more_conditions_than_the_second(site, monkeypatch) -> None:
    make_completed(site, gclid=GCLID)
    monkeypatch.setattr(free_text, "BATCH", 1)

    _first, second, *_between, last, _rest = free_text._batches(Event.objects.order_by("pk"))

    assert [event.to_state for event in (*second, *last)] == ["PROCESSING", "COMPLETED"]
    assert str(last.query).count(" > ") == str(second.query).count(" > ") == 1
