"""What webhooks say about conversions, sites and circuits."""

import json
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse

from kilit.api.webhooks import Described, webhook_kinds
from kilit.lock.audit import acting_as
from kilit.lock.models import Activity, Event
from kilit.sites.models import Tenant
from ociqueue.models import Circuit, Conversion
from ociqueue.states import Category
from tests.support.conversions import make_completed, make_failed

pytestmark = pytest.mark.django_db


def described(name: str) -> list[Described]:
    kind = webhook_kinds[name]
    events = list(Event.objects.filter(queue=kind.queue, event_type__in=kind.event_types).order_by("id"))
    found = kind.describe(events)
    return [found[event.pk] for event in events if event.pk in found]


def body(name: str) -> dict[str, Any]:
    (found,) = described(name)
    return dict(found.data)


def test_a_completed_conversion_is_reported_with_the_ids_that_the_shop_knows(site) -> None:
    row = make_completed(site, source_key="S-7")

    (found,) = described("conversion.completed")

    assert found.scope == str(site.pk)
    assert found.data == {
        "id": f"seal_{row.pk}",
        "site_id": site.public_id,
        "conversion_name": row.action,
        "order_id": row.order_id,
        "source_key": "S-7",
        "status": "COMPLETED",
        "attempt_count": 1,
        "error_code": None,
        "error_category": None,
        "error_message": None,
        "console_url": f"http://127.0.0.1:8000/admin/ociqueue/conversion/{row.pk}/change/",
    }


def test_a_failure_is_reported_as_it_was_though_the_row_has_moved_on(site) -> None:
    (row,) = make_failed(site, code="EXPIRED_EVENT", message="too old")
    Conversion.objects.filter(pk=row.pk).retry_selected()

    data = body("conversion.failed")

    assert (data["status"], data["error_code"], data["error_message"]) == ("FAILED", "EXPIRED_EVENT", "too old")
    assert data["error_category"] == "VALIDATION"


def test_a_retry_that_is_taken_back_is_not_reported_as_another_failure(site) -> None:
    (row,) = make_failed(site)
    Conversion.objects.filter(pk=row.pk).retry_selected()
    Conversion.objects.filter(pk=row.pk).move("undo_retry", provider_error_code="BAD")

    events = list(Event.objects.filter(event_type="STATE_FAILED"))

    assert (len(events), len(webhook_kinds["conversion.failed"].describe(events))) == (2, 1)


PLANTED = {
    "gclid": "Cj0KCQiA-planted_click",
    "wbraid": "CmIKCQplanted",
    "gbraid": "0AAAAplanted",
}


@pytest.mark.parametrize("column", PLANTED)
def test_personal_data_in_an_error_stays_here(site, column: str) -> None:
    click_id = PLANTED[column]
    message = f"Click {click_id} of +90 555 123 45 67, ayse.yilmaz@example.com, cannot be decoded."
    make_failed(site, message=message, **{column: click_id})

    sent = json.dumps(body("conversion.failed"))

    for planted in (click_id, "555 1", "123 45", "ayse.yilmaz"):
        assert planted not in sent
    assert "cannot be decoded" in sent


def test_a_row_that_was_pruned_is_not_reported(site) -> None:
    make_failed(site)
    (event,) = Event.objects.filter(event_type="STATE_FAILED")
    event.object_id = site.pk  # of no conversion

    assert webhook_kinds["conversion.failed"].describe([event]) == {}


def test_many_events_are_described_with_two_queries(site, django_assert_num_queries) -> None:
    make_failed(site, 20)
    events = list(Event.objects.filter(event_type="STATE_FAILED"))

    with django_assert_num_queries(2):
        assert len(webhook_kinds["conversion.failed"].describe(events)) == 20


def test_a_circuit_is_reported_when_it_opens_and_when_it_closes(site) -> None:
    circuit = Circuit.objects.trip(
        site, action="Satış", code="DENIED", category=Category.AUTH, reason="ask ayse@example.com"
    )
    Circuit.objects.close()

    opened, closed = body("circuit.opened"), body("circuit.closed")

    assert (opened["id"], opened["site_id"], opened["status"]) == (str(circuit.pk), site.public_id, "OPEN")
    assert (opened["error_code"], opened["error_message"]) == ("DENIED", "ask a…@example.com")
    assert (opened["conversion_name"], closed["conversion_name"]) == ("Satış", "Satış")
    assert (closed["status"], closed["error_code"], closed["error_message"]) == ("CLOSED", None, None)
    assert described("circuit.opened")[0].scope == str(site.pk)


def pauses() -> list[tuple[str, str, str]]:
    rows = Event.objects.filter(queue="site").order_by("id")
    return list(rows.values_list("event_type", "actor", "message"))


def test_a_pause_and_its_end_are_events_with_who_and_why(site) -> None:
    with acting_as("operator:ayse"):
        Tenant.objects.pause(reason="The budget is used up.")
        Tenant.objects.pause(reason="Again.")
    with acting_as("operator:mehmet", reason="Topped up."):
        Tenant.objects.resume()
        Tenant.objects.resume()

    assert pauses() == [
        ("SITE_PAUSED", "operator:ayse", "The budget is used up."),
        ("SITE_RESUMED", "operator:mehmet", "Topped up."),
    ]


def test_a_pause_from_psql_is_an_event(site) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sites_tenant SET is_paused = true, pause_reason = 'psql', paused_by = 'ayse'")
        cursor.execute("UPDATE sites_tenant SET is_paused = false")
        cursor.execute("SELECT session_user")
        role = cursor.fetchone()[0]

    assert pauses() == [("SITE_PAUSED", "ayse", "psql"), ("SITE_RESUMED", role, "")]


def test_other_changes_of_a_site_are_no_pauses(site) -> None:
    site.note_export()
    site.note_ack()

    assert pauses() == []


def test_a_pause_is_reported_without_the_person(site) -> None:
    with acting_as("operator:ayse"):
        Tenant.objects.pause(reason="Call 0555 123 45 67.")
        Tenant.objects.resume()

    paused, resumed = body("site.paused"), body("site.resumed")

    assert paused == {
        "id": site.public_id,
        "is_paused": True,
        "reason": "Call …4567.",
        "console_url": f"http://127.0.0.1:8000/admin/ociqueue/site/{site.pk}/change/",
    }
    assert (resumed["is_paused"], resumed["reason"]) == (False, None)
    assert described("site.paused")[0].scope == str(site.pk)


def test_a_pause_is_in_the_activity_once(site, make_person) -> None:
    person = make_person(sites={site: "operator"})
    address = reverse("admin:ociqueue_site_pause", args=[site.pk])

    person.post(address, {"reason": "Budget"})

    assert [row.message for row in Activity.objects.filter(kind="pause")] == ["Paused: Budget"]
    assert pauses() == [("SITE_PAUSED", "operator:ayse", "Budget")]
    assert person.get("/admin/lock/activity/").status_code == 200


def test_the_links_are_those_of_the_console(site) -> None:
    make_failed(site)
    Circuit.objects.trip(site, code="DENIED", category=Category.AUTH, reason="no")
    Tenant.objects.pause(reason="Budget")
    row = Conversion.objects.get()

    pages = {name: body(name)["console_url"] for name in ("conversion.failed", "circuit.opened", "site.paused")}

    assert {page.removeprefix("http://127.0.0.1:8000") for page in pages.values()} == {
        reverse("admin:ociqueue_conversion_change", args=[row.pk]),
        reverse("admin:ociqueue_site_change", args=[site.pk]),
    }


def test_the_error_of_a_row_without_a_click_id_is_reported_as_it_is(site) -> None:
    make_failed(site, message="no match", gclid="", hashed_email="a" * 64)

    assert body("conversion.failed")["error_message"] == "no match"
