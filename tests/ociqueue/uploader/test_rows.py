"""Two hundred is not success: each row of an answer ends where its own errors say."""

import pytest

from kilit.sentences import english
from ociqueue.models import Circuit, Conversion, UploadBatch
from ociqueue.states import Category, ConversionStatus
from ociqueue.uploader.upload_run import upload_due
from tests.support.uploads import states

pytestmark = pytest.mark.django_db(transaction=True)

FAMILY = "conversion_upload_error"


def error(name: str, **reported):
    return {"family": FAMILY, "name": name, **reported}


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
def test_of_two_thousand_rows_the_right_hundred_fail(google, api_site, make_rows) -> None:
    """Four codes among 2,000 rows; each row has code, category and message of its own."""
    names = ["UNPARSEABLE_GCLID", "EXPIRED_EVENT", "EVENT_NOT_FOUND", "UNAUTHORIZED_CUSTOMER"]
    rows = make_rows(api_site, count=2000)
    bad = {row.pk: names[number % 4] for number, row in enumerate(rows[::20])}
    for row in rows:
        if row.pk in bad:
            google.errors[row.gclid] = [error(bad[row.pk], message=f"Bad {row.gclid}")]

    tally = upload_due()

    assert str(tally) == "Uploaded 1900, failed 100, deferred 0 in 1 batch."
    assert len(google.calls) == 1
    found = {row.pk: row for row in Conversion.objects.for_site(api_site)}
    for row in rows:
        now = found[row.pk]
        assert now.provider_request_id == "request-1"
        assert now.open_batch_id is None
        if row.pk not in bad:
            assert (now.status, now.provider_error_code) == (ConversionStatus.COMPLETED, "")
            assert now.uploaded_at
            continue
        assert (now.status, now.provider_error_code) == (ConversionStatus.FAILED, bad[row.pk])
        assert now.provider_error_category == ("AUTH" if bad[row.pk] == "UNAUTHORIZED_CUSTOMER" else "VALIDATION")
        assert f"Bad {row.gclid}" in now.last_error or "Bad …" in now.last_error
        assert now.uploaded_at is None
    batch = UploadBatch.objects.get()
    assert (batch.size, len(batch.row_ids), batch.accepted, batch.failed) == (2000, 2000, 1900, 100)
    assert batch.sent_at < batch.answered_at


def test_of_several_errors_on_a_row_the_worst_counts_and_all_are_reported(google, api_site, make_rows) -> None:
    (row,) = make_rows(api_site, "bad")
    google.errors["bad"] = [error("TOO_RECENT_EVENT", message="too fresh"), error("EXPIRED_EVENT", message="too old")]

    upload_due()

    row.refresh_from_db()
    assert (row.status, row.provider_error_code) == (ConversionStatus.FAILED, "EXPIRED_EVENT")
    assert "too fresh" in row.last_error
    assert "too old" in row.last_error


@pytest.mark.parametrize("elements", [{}, {"index": 3, "field": "operations"}, {"index": 99}, {"index": -1}])
def test_an_error_that_points_at_no_row_proves_nothing(google, api_site, make_rows, elements) -> None:
    """No row of that answer is COMPLETED; all are put off and flagged."""
    make_rows(api_site, count=5)
    lost = error("EXPIRED_EVENT", message="somewhere", **elements)
    google.replies.append(lambda call: call.accept([lost, error("UNPARSEABLE_GCLID", index=1)]))

    upload_due()

    assert set(states(api_site)) == {"RETRY"}
    for row in Conversion.objects.all():
        assert row.outcome_unknown
        assert row.next_retry_at
        assert "refers to no row" in english(row.last_error)


def test_an_error_of_a_family_that_this_version_does_not_know_fails_the_row(google, api_site, make_rows) -> None:
    (row,) = make_rows(api_site, "newer")
    google.errors["newer"] = [{}]

    upload_due()

    row.refresh_from_db()
    assert (row.status, row.provider_error_code) == (ConversionStatus.FAILED, "UNKNOWN_FAMILY")


@pytest.mark.parametrize("results", [0, 2, 4])
def test_an_answer_with_the_wrong_number_of_results_proves_nothing(google, api_site, make_rows, results) -> None:
    make_rows(api_site, count=3)
    google.replies.append(lambda call: call.accept(results=results))

    upload_due()

    for row in Conversion.objects.all():
        assert (row.status, row.provider_error_code) == (ConversionStatus.RETRY, "UNPROVEN_ANSWER")
        assert row.outcome_unknown
        assert row.uploaded_at is None


def test_a_row_with_neither_result_nor_error_is_not_believed(google, api_site, make_rows) -> None:
    make_rows(api_site, "reported", "forgotten")

    def forget(call):
        answer = call.accept()
        answer.results[1].Clear()
        return answer

    google.replies.append(forget)

    upload_due()

    assert states(api_site) == ["COMPLETED", "RETRY"]


def test_a_passing_error_of_one_row_waits_and_hurts_no_other(google, api_site, make_rows, sql) -> None:
    """Google answers INTERNAL_ERROR per row inside a 200; calling it fatal loses conversions."""
    passing, early, _ = make_rows(api_site, "passing", "early", "fine")
    google.errors["passing"] = [{"family": "internal_error", "name": "INTERNAL_ERROR"}]
    google.errors["early"] = [error("TOO_RECENT_EVENT")]

    upload_due()

    assert states(api_site) == ["RETRY", "RETRY", "COMPLETED"]
    passing.refresh_from_db()
    assert passing.provider_error_category == Category.TRANSIENT
    ((minutes, hours),) = sql(
        "SELECT extract(epoch FROM p.next_retry_at - now()) / 60, extract(epoch FROM e.next_retry_at - now()) / 3600"
        " FROM offline_conversion_queue p, offline_conversion_queue e WHERE p.id = %s AND e.id = %s",
        passing.pk,
        early.pk,
    )
    assert 4.5 < minutes < 5.6
    assert 5.9 < hours < 6.7
    assert not Circuit.objects.open().exists()


@pytest.mark.parametrize("details", [False, True])
def test_an_error_that_cannot_be_read_proves_nothing(google, api_site, make_rows, details) -> None:
    """A status that says failed, without a failure that names rows."""
    make_rows(api_site, count=2)

    def unreadable(call):
        answer = call.accept()
        answer.partial_failure_error.code = 3
        answer.partial_failure_error.message = "something failed"
        if details:
            answer.partial_failure_error.details.add(type_url="type.googleapis.com/some.Other", value=b"x")
        return answer

    google.replies.append(unreadable)

    upload_due()

    assert states(api_site) == ["RETRY", "RETRY"]
    assert not Conversion.objects.filter(outcome_unknown=False).exists()


def test_an_account_that_takes_some_rows_is_not_held_back_for_one(google, api_site, make_rows) -> None:
    (bad, *_) = make_rows(api_site, "bad", "fine", "good")
    google.errors["bad"] = [{"family": "resource_access_denied_error", "name": "WRITE_ACCESS_DENIED"}]

    upload_due()

    assert states(api_site) == ["RETRY", "COMPLETED", "COMPLETED"]
    bad.refresh_from_db()
    assert (bad.provider_error_category, bad.attempts_forgiven) == (Category.AUTH, 0)
    assert not Circuit.objects.open().exists()


def test_a_limit_inside_an_answer_of_success_rests_the_site(google, api_site, make_rows) -> None:
    make_rows(api_site, count=3)
    limit = {"family": "quota_error", "name": "RESOURCE_EXHAUSTED", "retry_seconds": 900}
    google.replies.append(lambda call: call.accept([limit]))

    upload_due()

    assert Circuit.objects.open().get().category == Category.RATE_LIMIT
