"""Failed rows are corrected and sent again: once, and never beside a retry."""

from threading import Barrier

import pytest
from django.db import IntegrityError, connection, transaction

from kilit.lock.models import ErrorGroup
from ociqueue.intake.corrections import Correction, CorrectionResult, replace_rows
from ociqueue.models import Conversion, Site
from ociqueue.operating import operations
from ociqueue.states import Category
from tests.support.conversions import make_failed
from tests.support.turns import one_after_the_other
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db

REPLACED = "already replaced by"


def correct(row: Conversion, **changes: str) -> CorrectionResult:
    (result,) = replace_rows(row.site, [Correction(str(row), changes)])
    return result


def test_a_failed_row_is_replaced_by_a_corrected_copy(site) -> None:
    (row,) = make_failed(site, gclid="broken", value="10.50", source_key="order-1")

    result = correct(row, gclid="Cj0KCQ-right", conversionValue="12")

    copy = Conversion.objects.get(replaces=row)
    assert result.copy == copy
    assert (copy.status, copy.gclid, float(copy.value), copy.currency) == ("QUEUED", "Cj0KCQ-right", 12, row.currency)
    assert (copy.order_id, copy.conversion_time, copy.source_key) == (row.order_id, row.conversion_time, None)
    row.refresh_from_db()
    assert (row.status, row.gclid, row.is_replaced) == ("FAILED", "broken", True)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"gclid": "Cj0KCQ-a"},
        {"conversionValue": "120", "conversionCurrency": "try", "conversionName": "Satış"},
    ],
)
def test_what_changes_nothing_is_left_alone(site, changes) -> None:
    (row,) = make_failed(site, gclid="Cj0KCQ-a", action="Satış", value="120.00", currency="TRY")

    result = correct(row, **changes, conversionTime=row.conversion_time.isoformat(timespec="seconds"))

    assert (result.is_unchanged, result.copy, result.errors) == (True, None, [])
    assert Conversion.objects.count() == 1


def test_a_second_click_id_takes_the_place_of_the_first_only_alone(site) -> None:
    first, second = make_failed(site, 2, gclid="Cj0KCQ-a")

    moved, both = correct(first, wbraid="CkQKC-w"), correct(second, gclid="Cj0KCQ-a", wbraid="CkQKC-w")

    assert (moved.copy.gclid, moved.copy.wbraid) == ("", "CkQKC-w")
    assert both.message == "gclid: Exactly one of gclid, wbraid and gbraid is required."


@pytest.mark.parametrize(
    ("changes", "consents"),
    [
        ({"consentAdUserData": "GRANTED"}, ("GRANTED", "DENIED")),
        (
            {"consentAdPersonalization": ""},
            ("DENIED", "UNSPECIFIED"),
        ),  # from the form; empty cells of a file are absent
        ({"consent": "GRANTED"}, ("GRANTED", "GRANTED")),
        ({"consent": "UNSPECIFIED"}, ("UNSPECIFIED", "UNSPECIFIED")),
        ({"conversionValue": "12"}, ("DENIED", "DENIED")),
    ],
)
def test_consent_is_corrected(site, changes, consents) -> None:
    Site.objects.update(denied_consent="SEND")
    (row,) = make_failed(site, consent_ad_user_data="DENIED", consent_ad_personalization="DENIED")

    copy = correct(row, **changes).copy

    assert (copy.consent_ad_user_data, copy.consent_ad_personalization) == consents


@pytest.mark.parametrize(
    "changes",
    [
        {"consent": "DENIED"},
        {"consentAdUserData": "DENIED", "consentAdPersonalization": "DENIED"},
    ],
)
def test_the_same_consent_is_no_correction(site, changes) -> None:
    Site.objects.update(denied_consent="SEND")
    (row,) = make_failed(site, consent_ad_user_data="DENIED", consent_ad_personalization="DENIED")

    assert correct(row, **changes).is_unchanged


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"consent": "GRANTED", "consentAdUserData": "DENIED"},
            "consent: consent is GRANTED, but consentAdUserData is DENIED. Leave consent out.",
        ),
        ({"consentAdUserData": "yes"}, "consentAdUserData: Expected one of GRANTED, DENIED."),
        ({"orderId": "other"}, "orderId: It cannot be corrected."),
        ({"sourceKey": "other"}, "sourceKey: It cannot be corrected."),
        ({"gclid": "Cj0K…Q-xy"}, "gclid: It is masked; use an operator's export."),
        ({"conversionTime": "2026-11-15T13:45:00"}, "conversionTime: The offset is missing"),
    ],
)
def test_what_cannot_be_corrected_is_said_with_its_column(site, changes, message) -> None:
    (row,) = make_failed(site)

    result = correct(row, **changes)

    assert result.message.startswith(message)
    assert not Conversion.objects.filter(replaces=row).exists()


def test_a_row_that_google_may_have_is_not_replaced(site) -> None:
    (unknown,) = make_failed(site, category=Category.TRANSIENT, code="UPLOAD_EXCEPTION")

    assert "its outcome is unknown, Google may have it" in correct(unknown, gclid="new").message
    assert Conversion.objects.count() == 1


def test_a_row_that_waits_is_corrected_itself_but_not_renamed(site, make_conversion) -> None:
    row = make_conversion(site, gclid="broken")

    same, renamed, done = correct(row), correct(row, conversionName="Teklif"), correct(row, gclid="Cj0KCQ-right")

    assert (same.message, renamed.message) == ("nothing is corrected", "conversionName: It cannot be corrected.")
    assert (done.message, done.copy, done.corrected) == ("corrected", None, row)
    row.refresh_from_db()
    assert (row.gclid, row.status, row.key.click_id) == ("Cj0KCQ-right", "QUEUED", "Cj0KCQ-right")


def test_a_replaced_row_leaves_its_error_group_and_no_verb_moves_it(site) -> None:
    (row,) = make_failed(site, category=Category.TRANSIENT, code="UNAVAILABLE")
    Conversion.objects.update(outcome_unknown=False)
    Site.objects.update(requeue_transient=True)
    assert [group.total for group in ErrorGroup.objects.largest(queue="conversion")] == [1]

    correct(row, gclid="new")

    rows = Conversion.objects.filter(pk=row.pk)
    assert ErrorGroup.objects.largest(queue="conversion") == []
    assert (rows.retry_selected(), rows.reset_to_queued(), rows.requeue_transient()) == (set(), set(), 0)
    assert operations.RETRY.skips(rows)[row.pk].reason == "replaced by a corrected copy"
    with pytest.raises(IntegrityError, match="replaced_has_ended"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE offline_conversion_queue SET status = 'QUEUED', claimed_at = NULL WHERE is_replaced")


def test_a_copy_that_fails_can_be_corrected_in_turn(site) -> None:
    (row,) = make_failed(site)
    copy = correct(row, gclid="second").copy
    copies = Conversion.objects.filter(pk=copy.pk)
    copies.claim(limit=1)
    copies.ack_failed(code="INVALID_VALUE", category="VALIDATION", message="bad")

    again = correct(copies.get(), gclid="third")

    assert again.copy.order_id == row.order_id
    assert correct(row, gclid="fourth").message == f"{REPLACED} {copy}"


def retry(row: Conversion) -> bool:
    return bool(Conversion.objects.filter(pk=row.pk).retry_selected())


def reset(row: Conversion) -> bool:
    return bool(Conversion.objects.filter(pk=row.pk).reset_to_queued())


def is_corrected(row: Conversion) -> bool:
    return correct(row, gclid="corrected").copy is not None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("again", [retry, reset])
def test_a_retry_that_waits_for_a_correction_or_the_other_way_round_does_nothing(site, again) -> None:
    corrected, retried = make_failed(site, 2)

    correction_first = one_after_the_other(lambda: is_corrected(corrected), lambda: again(corrected))
    retry_first = one_after_the_other(lambda: again(retried), lambda: is_corrected(retried))

    assert (correction_first, retry_first) == ([True, False], [True, False])
    corrected.refresh_from_db()
    retried.refresh_from_db()
    assert (corrected.status, corrected.is_replaced) == ("FAILED", True)
    assert (retried.status, retried.is_replaced) == ("QUEUED", False)
    assert [copy.replaces_id for copy in Conversion.objects.exclude(replaces=None)] == [corrected.pk]


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_exactly_one_wins(site, in_threads) -> None:
    for row in make_failed(site, 5):
        start = Barrier(6)

        def race(number: int, row: Conversion = row, start: Barrier = start) -> bool:
            start.wait(timeout=PATIENCE)
            return (is_corrected, retry)[number % 2](row)

        assert in_threads(race, count=6).count(True) == 1
        row.refresh_from_db()
        copies = Conversion.objects.filter(replaces=row).count()
        assert (row.status, copies) in {("FAILED", 1), ("QUEUED", 0)}
