"""Entry of adjustments: which are stored, which are refused, and what ends at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from kilit.lock.models import Event
from kilit.workers import sweeps
from ociqueue.codes.table import EXPECTED_ADJUSTMENT_FAILURES
from ociqueue.intake.adjustments import Entry, adjust
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.models.sending import failure
from ociqueue.states import SyncMethod
from tests.support.adjustments import restate, retract
from tests.support.conversions import new_conversion
from tests.support.guarded_columns import write_unguarded
from tests.support.turns import in_own_session
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db


def make(site, status="QUEUED", *, error=None, **columns):
    """Store a conversion and move it to a state."""
    row = new_conversion(site, **columns)
    row.save()
    rows = Conversion.objects.filter(pk=row.pk)
    if status != "QUEUED":
        rows.move("claim", claimed_at=timezone.now())
    if status in ("COMPLETED", "FAILED"):
        rows.move("ack" if status == "COMPLETED" else "ack_failed", **(error or {}))
    row.refresh_from_db()
    return row


@pytest.fixture
def sold(site):
    """A conversion that Google has, at a site of the Google Ads API."""
    Site.objects.filter(pk=site.pk).update(sync_method=SyncMethod.API)
    site.refresh_from_db()
    return make(site, "COMPLETED", value=100, currency="TRY", source_key="order-1")


def adjustments():
    return list(Adjustment.objects.order_by("adjusted_at"))


def test_a_restatement_is_stored_with_what_is_sent(site, sold):
    result = restate(site, sold, 80)

    assert result == {
        "index": 0,
        "status": "created",
        "id": result["id"],
        "conversionId": str(sold),
        "state": "QUEUED",
    }
    (row,) = adjustments()
    assert (row.order_id, row.action, row.value, row.currency) == (sold.order_id, sold.action, Decimal(80), "TRY")
    assert row.adjusted_at > sold.conversion_time
    assert row.adjusted_at.microsecond == 0
    events = Event.objects.filter(object_id=sold.pk, event_type="ADJUSTMENT_ADDED")
    assert events.get().details == {"adjustment": str(row), "kind": "RESTATEMENT", "value": 80.0, "currency": "TRY"}


@pytest.mark.parametrize(
    "name", [{"orderId": True}, {"sourceKey": "order-1"}, {"conversionSourceKey": "order-1", "sourceKey": "refund-1"}]
)
def test_the_conversion_is_found_by_what_the_caller_knows(site, sold, name):
    name = {"orderId": sold.order_id} if "orderId" in name else name

    assert adjust(site, [{**name, "kind": "RETRACTION"}])[0]["status"] == "created"

    (row,) = adjustments()
    assert row.original == sold
    assert row.source_key == ("refund-1" if "conversionSourceKey" in name else None)


def test_a_newer_adjustment_takes_the_place_of_one_that_waits(site, sold):
    restate(site, sold, 80)
    restate(site, sold, 60)

    first, second = adjustments()
    assert (first.status, first.provider_error_code, first.is_overtaken) == ("FAILED", "OVERTAKEN", True)
    assert (second.status, second.is_overtaken) == ("QUEUED", False)
    assert second.adjusted_at > first.adjusted_at


def test_several_of_one_conversion_in_one_request_follow_each_other(site, sold):
    items = [{"id": str(sold), "kind": "RESTATEMENT", "value": value} for value in (90, 80, 80, 70)]
    results = adjust(site, [*items, {"id": str(sold), "kind": "RETRACTION"}, items[0]])

    assert [one["status"] for one in results] == ["created", "created", "duplicate", "created", "created", "invalid"]
    assert [one.get("state") for one in results[:5]] == ["FAILED", "FAILED", "FAILED", "FAILED", "QUEUED"]
    times = [row.adjusted_at for row in adjustments()]
    assert times == sorted(set(times))


def test_the_same_again_is_a_duplicate(site, sold):
    first = restate(site, sold, 80)
    assert restate(site, sold, "80.00") == {**first, "status": "duplicate"}
    assert retract(site, sold)["status"] == "created"
    assert retract(site, sold)["status"] == "duplicate"


def test_a_key_is_one_adjustment(site, sold):
    first = restate(site, sold, 80, sourceKey="r-1")
    restate(site, sold, 60, sourceKey="r-2")
    assert restate(site, sold, 80, sourceKey="r-1") == {**first, "status": "duplicate", "state": "FAILED"}
    assert restate(site, sold, 70, sourceKey="r-1")["errors"][0]["field"] == "sourceKey"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"id": "seal_0192e4a0-7c1e-7d2a-9b3c-4d5e6f708192", "kind": "RETRACTION"}, "no such conversion"),
        ({"kind": "RETRACTION"}, "Name the conversion"),
        ({"sourceKey": "order-1", "kind": "RETRACTION", "value": 5}, "no value"),
        ({"sourceKey": "order-1", "kind": "RESTATEMENT"}, "new value"),
        ({"sourceKey": "order-1", "kind": "RESTATEMENT", "value": "1.234"}, "2 digits"),
        ({"sourceKey": "order-1", "kind": "RESTATEMENT", "value": -1}, "from 0"),
        ({"sourceKey": "order-1", "kind": "REFUND"}, "RETRACTION"),
        ({"sourceKey": "ORDER-1", "kind": "RETRACTION"}, "no such conversion"),
    ],
)
def test_bad_input_is_refused_with_the_reason(site, sold, item, message):
    (result,) = adjust(site, [item])

    assert result["status"] == "invalid"
    assert message in str(result["errors"])
    assert not adjustments()


def test_nothing_follows_a_retraction(site, sold):
    retract(site, sold)
    assert "nothing can follow" in restate(site, sold, 80)["errors"][0]["message"]


def test_an_old_conversion_is_not_adjusted(site, sold):
    write_unguarded(Conversion.objects.filter(pk=sold.pk), conversion_time=timezone.now() - timedelta(days=55))
    assert "54 days" in retract(site, sold)["errors"][0]["message"]


def test_a_conversion_that_waits_ends_with_its_retraction(site, sold):
    waits = make(site, source_key="order-2")

    assert retract(site, waits)["state"] == "COMPLETED"

    waits.refresh_from_db()
    assert (waits.status, waits.provider_error_code, waits.is_retracted) == ("FAILED", "RETRACTED_BEFORE_UPLOAD", True)
    assert not Conversion.objects.filter(pk=waits.pk).retry_selected()
    assert not Conversion.objects.filter(pk=waits.pk).reset_to_queued()


def test_what_google_may_have_is_retracted_later(site, sold):
    waits = make(site, source_key="order-2", outcome_unknown=True)

    assert retract(site, waits)["state"] == "QUEUED"
    assert not Adjustment.objects.due().exists()
    assert Conversion.objects.due().filter(pk=waits.pk).exists()


def test_a_retracted_conversion_that_waits_again_ends_although_its_retraction_failed(site, sold):
    claimed, other = make(site, "PROCESSING"), make(site)
    retract(site, claimed)
    Adjustment.objects.mark_failed()
    Conversion.objects.filter(pk=claimed.pk).move("recover", claimed_at=None)  # its upload was not sent

    assert not Conversion.objects.filter(pk=claimed.pk).due().exists()
    assert sweeps.run("oci_end_unsendable") == "Withheld 0, expired 0, retracted 1."

    claimed.refresh_from_db()
    assert (claimed.status, claimed.provider_error_code) == ("FAILED", "RETRACTED_BEFORE_UPLOAD")
    other.refresh_from_db()
    assert other.status == "QUEUED"


def test_the_sweep_leaves_what_google_may_have_and_what_its_retraction_ends(site, sold):
    unknown, claimed = make(site, "PROCESSING"), make(site, "PROCESSING")
    for row in (unknown, claimed):
        retract(site, row)
    Adjustment.objects.filter(original=unknown).mark_failed()
    Conversion.objects.filter(pk=unknown.pk).move("recover", claimed_at=None, outcome_unknown=True)
    Conversion.objects.filter(pk=claimed.pk).move("recover", claimed_at=None)

    assert Conversion.objects.sweep_retracted() == 0
    with transaction.atomic():
        Adjustment.objects.end_unsendable()

    assert Adjustment.objects.get(original=claimed).status == "COMPLETED"


def test_an_adjustment_of_a_failed_conversion_fails(site, sold):
    failed = make(site, "FAILED", error=failure("EXPIRED_EVENT", "VALIDATION", "Too old."))

    assert restate(site, failed, 5)["state"] == "FAILED"
    assert adjustments()[0].provider_error_code == "ORIGINAL_NOT_UPLOADED"


def test_a_script_site_only_takes_what_nothing_is_sent_for(site):
    waits = make(site)
    done = make(site, "COMPLETED")

    assert "script" in retract(site, done)["errors"][0]["message"]
    assert retract(site, waits)["state"] == "COMPLETED"


def test_a_dry_run_says_the_same_and_stores_nothing(site, sold):
    items = [{"id": str(sold), "kind": "RESTATEMENT", "value": 80}, {"id": str(sold), "kind": "NO"}]
    dry = adjust(site, items, dry_run=True)

    assert not adjustments()
    assert [one["status"] for one in dry] == [one["status"] for one in adjust(site, items)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ociqueue_adjustment SET status = 'PROCESSING', claimed_at = now()",
        "UPDATE ociqueue_adjustment SET is_overtaken = true, status = 'PROCESSING', claimed_at = now()",
    ],
)
def test_raw_sql_cannot_claim_what_must_wait(site, sold, statement):
    waits = make(site, "PROCESSING", source_key="order-2")
    restate(site, waits if "overtaken" not in statement else sold, 80)

    with pytest.raises(IntegrityError, match="cannot be claimed"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def test_the_database_keeps_the_order_of_adjustments(site, sold):
    retract(site, sold)
    (row,) = adjustments()
    later = Adjustment(
        site=site, original=sold, kind="RESTATEMENT", value=1, currency="TRY", action=row.action,
        order_id=row.order_id, adjusted_at=row.adjusted_at + timedelta(seconds=5),
    )  # fmt: skip

    with pytest.raises(IntegrityError, match="cannot be adjusted"), transaction.atomic():
        later.save()


def test_a_restatement_follows_a_conversion_that_was_retried(site, sold):
    failed = make(site, "FAILED", error=failure("EXPIRED_EVENT", "VALIDATION", "Too old."))
    restate(site, failed, 5)
    Conversion.objects.filter(pk=failed.pk).retry_selected()
    assert not Adjustment.objects.revive()

    Conversion.objects.filter(pk=failed.pk).move("claim", claimed_at=timezone.now())
    Conversion.objects.filter(pk=failed.pk).move("ack")

    sweeps.reconcile()
    assert "oci_upload" in sweeps.take_due(), "the scheduled task that revives it"
    assert Adjustment.objects.revive() == {adjustments()[0].pk}
    assert Adjustment.objects.due().exists()


def test_a_pruned_retraction_is_still_the_last(site, sold):
    Conversion.objects.filter(pk=sold.pk).update(is_retracted=True)
    assert restate(site, sold, 5)["status"] == "invalid"


def test_of_one_conversion_one_adjustment_is_in_flight(site, sold):
    restate(site, sold, 80)
    Adjustment.objects.move("claim", claimed_at=timezone.now())
    restate(site, sold, 60)

    assert [row.status for row in adjustments()] == ["PROCESSING", "QUEUED"]
    assert not Adjustment.objects.due().exists()


def test_a_failed_conversion_that_google_may_have_is_a_failure_to_look_at(site, sold):
    error = failure("UNAVAILABLE", "TRANSIENT", "No answer.") | {"outcome_unknown": True}
    failed = make(site, "FAILED", error=error)

    retract(site, failed)

    assert adjustments()[0].provider_error_code == "ORIGINAL_OUTCOME_UNKNOWN"
    assert "ORIGINAL_OUTCOME_UNKNOWN" not in EXPECTED_ADJUSTMENT_FAILURES


@pytest.mark.django_db(transaction=True)
def test_the_key_of_a_refused_item_may_be_taken_while_another_collides(site, sold, monkeypatch) -> None:
    other = make(site, "COMPLETED", value=50, currency="TRY", source_key="order-2")
    retracted = {"kind": "RETRACTION", "sourceKey": "key-1"}
    restated = [{"kind": "RESTATEMENT", "sourceKey": key, "value": 20} for key in ("key-1", "key-0")]
    own = [{**item, "id": str(sold)} for item in (retracted, restated[1])]  # nothing follows a retraction
    theirs = [{**restated[1], "id": str(other)}, {**restated[0], "id": str(other), "value": 30}]
    store = Entry.store

    def store_late(entry: Entry) -> None:
        monkeypatch.setattr(Entry, "store", store)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(in_own_session, lambda: adjust(site, theirs)).result(timeout=PATIENCE)
        store(entry)

    monkeypatch.setattr(Entry, "store", store_late)

    results = adjust(site, own)

    assert [result["status"] for result in results] == ["invalid", "invalid"]
    assert Adjustment.objects.filter(original=other).count() == 2
