"""Erasure: nothing that identifies a person is left, and everything else is."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from kilit.lock.audit import acting_as
from kilit.lock.free_text import free_texts
from kilit.lock.models import Activity, Count, ErrorDelta, ErrorGroup, Event
from kilit.problems.tracking import track_problems
from kilit.workers.models import SweepRun
from ociqueue.models import (
    Adjustment,
    Circuit,
    Conversion,
    Erasure,
    IdentifierKind,
    ReadBack,
    Receipt,
    Site,
    UploadBatch,
)
from ociqueue.operating import erasure
from ociqueue.operating.erasure import Person, find, forget
from ociqueue.states import Category
from ociqueue.values.identifiers import hash_email, hash_phone
from orchestrator.models import Customer
from outbox import log_reader
from outbox.models import Attempt, Endpoint, OutboxMessage
from tests.support.all_columns import columns_with
from tests.support.bulk_actions import asked, worked
from tests.support.conversions import make_completed, make_failed, new_conversion
from tests.support.erasure import EMAIL, GCLID, PHONE, adjust, make_import, make_summary

pytestmark = pytest.mark.django_db

# Letters alone: error groups take it for a word, and keep it in what their messages have in common.
WORDY = "CjKCQfLBhDKARIsAPzXkqErasureErasureErasure"
OTHER = "Cj0KCQ-of-somebody-else_1"
HASHES = {
    "hashed_email": hash_email(EMAIL)[0],
    "hashed_email_ads": hash_email(EMAIL)[1],
    "hashed_phone": hash_phone(PHONE),
}
ALL = (GCLID, WORDY, EMAIL, PHONE, PHONE[1:], *HASHES.values())


def by_click_id(text: str = GCLID) -> Person:
    return Person(IdentifierKind.CLICK_ID, text)


def by_email(text: str = EMAIL) -> Person:
    return Person(IdentifierKind.EMAIL, text)


def erase(person: Person, *sites: Site) -> list[tuple[int, int]]:
    return [(result.erased, result.left) for result in forget(person, sites or list(Site.objects.all()))]


def trail(rows: Any) -> list[tuple[Any, ...]]:
    """Return all of a timeline but its texts."""
    columns = ("id", "object_id", "event_type", "from_state", "to_state", "actor", "created_at")
    return list(Event.objects.filter(object_id__in=[row.pk for row in rows]).order_by("id").values_list(*columns))


def counts() -> tuple[Any, Any, Any]:
    groups = [(g.name, g.code, g.total, g.states) for g in ErrorGroup.objects.largest(queue="conversion")]
    return Count.objects.by_state(queue="conversion"), groups, ErrorGroup.objects.codes(queue="conversion")


def quote_everywhere(site: Site, admin_client: Client) -> list[Conversion]:
    """Store conversions of one person, and everything that may quote what identifies them."""
    said = f"click {GCLID}, {WORDY}, {EMAIL.lower()}, {PHONE} and {HASHES['hashed_phone']}"
    kinds = ["conversion.failed", "circuit.opened", "site.paused"]
    Endpoint.objects.create(url="https://shop.example/hook", kinds=kinds, description=f"for {EMAIL}")
    rows = [
        *make_failed(site, gclid=GCLID, **HASHES, message=f"Google: {said}"),
        *make_failed(site, gclid=GCLID, code="OTHER", message="x" * 960 + GCLID),
        *make_failed(site, wbraid=WORDY, **HASHES, message=f"not found: {WORDY}"),
        make_completed(site, gclid=GCLID, source_key="order-7"),
    ]
    others = make_failed(site, 2, gclid=OTHER)
    with acting_as("operator:ayse", reason=f"of {said}"):
        Conversion.objects.filter(pk__in=[rows[1].pk, *(row.pk for row in others)]).retry_selected()
        Conversion.objects.filter(pk__in=[rows[1].pk, *(row.pk for row in others)]).mark_failed(reason=f"for {said}")
    Circuit.objects.trip(site, code="X", category=Category.AUTH, reason=f"refused: {said}")
    Circuit.objects.close()
    Circuit.objects.trip(site, code="X", category=Category.AUTH, reason=f"again: {said}")
    batch = UploadBatch.objects.create(site=site, size=1, note=f"INTERNAL: {said}")
    Receipt.objects.create(batch=batch, request_id="r", row_ids=[rows[0].pk], note=said, settled_at="2026-11-16T00:00Z")
    Adjustment.objects.filter(pk=adjust(rows[-1]).pk).mark_failed(reason=said)
    ErrorGroup.objects.fold()
    rows += make_failed(site, wbraid=WORDY, message=f"not found: {WORDY}")
    ReadBack.objects.note(site, error=said)
    make_summary(site, said)
    SweepRun.note("oci_upload", result=said)
    admin_client.post(f"/admin/ociqueue/site/{site.pk}/pause/", {"reason": f"because of {GCLID}"})
    view = {"listed": "ociqueue.conversion", "name": "hers", "query": f"q={GCLID}"}
    admin_client.post(reverse("console:views"), view)
    worked(asked(admin_client, "retry", f"q={OTHER}", reason=f"asked by {EMAIL}"))
    asked(admin_client, "retry", f"q={GCLID}", reason=said)
    make_import(site, said)
    log_reader.read_log()
    track_problems()
    Customer.objects.create(phone="+905321112233", name="Ege", address=said, tax_office=EMAIL)
    message = OutboxMessage.objects.filter(object_id=rows[0].pk).latest("pk")
    Attempt.objects.create(message_id=message.pk, number=1, seconds=1, url="https://shop.example", answer=said)
    return rows


def test_nothing_is_left_and_counts_and_history_are_exact(site, admin_client) -> None:
    rows = quote_everywhere(site, admin_client)
    quoting = {name.split(".")[1] for name in columns_with(*ALL)}
    assert {"lock_event", *(text.model._meta.db_table for text in free_texts())} - quoting == set()
    history, before, events = trail(rows), counts(), Event.objects.count()

    assert erase(by_email()) == [(5, 0)]
    assert erase(Person(IdentifierKind.PHONE, PHONE)) == [], "only its hash was known, and not what people typed"

    assert columns_with(*ALL) == []
    assert counts() == before
    assert trail(rows)[: len(history)] == history
    new = Event.objects.order_by("-id")[: Event.objects.count() - events]
    assert {(event.event_type, event.object_id) for event in new} == {("ERASED", row.pk) for row in rows}
    assert Conversion.objects.get(pk=rows[0].pk).last_error.startswith("Google: click …, ")


def test_the_row_stays_with_its_order_id_and_source_key(site) -> None:
    row = make_completed(site, gclid=GCLID, source_key="order-7")

    erase(by_click_id())

    after = Conversion.objects.get(pk=row.pk)
    assert (after.status, after.order_id, after.source_key) == ("COMPLETED", row.order_id, "order-7")
    assert (after.click_id, after.updated_at, after.value) == ("", row.updated_at, row.value)
    assert after.erased_at is not None


@pytest.mark.parametrize(
    "person",
    [
        by_click_id(),
        by_email(),
        by_email(" jane.doe+promo@GMAIL.com "),
        by_email("janedoe@gmail.com"),
        Person(IdentifierKind.PHONE, "+90 532 123 45 67"),
        Person(IdentifierKind.ORDER_ID, "order-7"),
    ],
    ids=lambda person: person.kind,
)
def test_a_person_is_found_by(site, make_site, person: Person) -> None:
    other = make_site(name="other")
    make_completed(site, gclid=GCLID, source_key="order-7", **HASHES)
    make_completed(other, gclid=GCLID)
    make_completed(site, gclid="of-another")

    assert [(result.site, result.erased) for result in find(person, [site, other])] == [(site, 1), (other, 1)]


def test_an_order_id_finds_its_row(site) -> None:
    row = make_completed(site)

    assert erase(Person(IdentifierKind.ORDER_ID, row.order_id)) == [(1, 0)]


def test_hashes_that_the_shop_made_by_either_rule_are_found(site) -> None:
    for value in hash_email(EMAIL):
        make_completed(site, gclid="", hashed_email=value)

    assert erase(by_email()) == [(2, 0)]


def test_rows_of_the_same_visit_and_corrected_copies_are_the_same_persons(site) -> None:
    (wrong,) = make_failed(site, gclid="mistyped", **HASHES)
    make_completed(site, gclid=GCLID, replaces=wrong)
    make_completed(site, gclid=GCLID, hashed_email="a" * 64)
    shared = make_completed(site, gclid="of-another", hashed_email="a" * 64)

    assert erase(by_email()) == [(3, 0)]

    shared.refresh_from_db()
    assert shared.gclid == "of-another", "another person's address on the same click is not followed"


def test_one_site_is_searched_if_asked(site, make_site) -> None:
    other = make_site(name="other")
    for each in (site, other):
        make_completed(each, gclid=GCLID)

    assert erase(by_click_id(), site) == [(1, 0)]
    assert Conversion.objects.get(site=other).gclid == GCLID


def test_rows_that_have_not_ended_are_left(site) -> None:
    waiting = new_conversion(site, gclid=GCLID)
    waiting.save()
    make_completed(site, gclid=GCLID)

    assert [(each.erased, each.left) for each in find(by_click_id(), [site])] == [(1, 1)]
    assert erase(by_click_id()) == [(1, 1)]

    waiting.refresh_from_db()
    assert (waiting.gclid, waiting.erased_at) == (GCLID, None)
    Conversion.objects.filter(pk=waiting.pk).mark_failed()
    assert erase(by_click_id()) == [(1, 0)]


def test_twice_is_harmless_and_leaves_a_record_each(site) -> None:
    make_completed(site, gclid=GCLID)

    with acting_as("admin:ayse"):
        assert (erase(by_click_id()), erase(by_click_id())) == ([(1, 0)], [])

    records = Erasure.objects.order_by("id").values_list("site", "kind", "rows_erased", "rows_left", "actor")
    assert list(records) == [(site.pk, "click_id", 1, 0, "admin:ayse"), (site.pk, "click_id", 0, 0, "admin:ayse")]
    assert Event.objects.filter(event_type="ERASED").count() == 1


def test_a_run_that_stops_between_batches_is_completed_by_the_next(site, monkeypatch) -> None:
    monkeypatch.setattr(erasure, "BATCH", 2)
    make_failed(site, 5, gclid=GCLID, message=f"of {GCLID}")

    first = next(forget(by_click_id(), [site]))

    assert (first.erased, Conversion.objects.filter(gclid=GCLID).count()) == (2, 3)
    assert erase(by_click_id()) == [(2, 0), (1, 0)]
    assert columns_with(GCLID) == []


@pytest.mark.parametrize(
    "statement",
    ["UPDATE ociqueue_erasure SET rows_erased = 7", "DELETE FROM ociqueue_erasure", "TRUNCATE ociqueue_erasure"],
)
def test_records_stay(site, sql, statement: str) -> None:
    erase(by_click_id())
    sql("SET CONSTRAINTS ALL IMMEDIATE")  # TRUNCATE refuses while a foreign key waits to be checked

    with pytest.raises(IntegrityError, match="records of erasure cannot be"), transaction.atomic():
        sql(statement)


def test_an_erased_row_is_never_sent_again(site, sql) -> None:
    site.requeue_transient = True
    site.save()
    (row,) = make_failed(site, gclid=GCLID, category="TRANSIENT")
    erase(by_click_id())
    rows = Conversion.objects.filter(pk=row.pk)

    assert (rows.retry_selected(), rows.reset_to_queued(), Conversion.objects.requeue_transient()) == (set(), set(), 0)

    with pytest.raises(IntegrityError, match="erased_has_ended"), transaction.atomic():
        sql("UPDATE offline_conversion_queue SET status = 'QUEUED', claimed_at = NULL")
    assert rows.get().status == "FAILED"


def test_the_activity_says_how_many_and_not_whose(site) -> None:
    make_failed(site, 3, gclid=GCLID)

    with acting_as("admin:ayse"):
        erase(by_click_id())

    (line,) = Activity.objects.filter(verb="ERASED")
    assert (line.kind, line.person, line.scope, line.rows, line.message) == ("action", "ayse", str(site.pk), 3, "")


def test_a_group_of_errors_with_the_id_never_names_it_and_keeps_its_rows(site) -> None:
    make_failed(site, 2, gclid=WORDY, message=f"not found: {WORDY}")
    ErrorGroup.objects.fold()
    (before,) = ErrorGroup.objects.largest(queue="conversion")
    assert before.shape == "not found: …"

    erase(by_click_id(WORDY))

    (after,) = ErrorGroup.objects.largest(queue="conversion")
    assert (after.name, after.total, after.shape) == (before.name, 2, "not found: …")
    assert not ErrorDelta.objects.exists()


def test_a_row_with_an_adjustment_that_has_not_ended_is_left(site) -> None:
    adjustment = adjust(make_completed(site, gclid=GCLID))

    assert erase(by_click_id()) == [(0, 1)]
    Adjustment.objects.filter(pk=adjustment.pk).mark_failed(reason=f"of {GCLID}")
    assert erase(by_click_id()) == [(1, 0)]

    assert columns_with(GCLID) == []
    adjustment.refresh_from_db()
    assert adjustment.last_error == "of …"
