"""A timeout proves nothing: the next attempt says the same, and "already exists" then means success."""

from datetime import timedelta

import pytest

from kilit.lock.models import Event
from kilit.sentences import english
from ociqueue.models import Conversion, Site, UploadBatch
from ociqueue.uploader.upload_run import upload_due
from simulators.googleads.server import Call, accept
from tests.support.adjustments import applied_but_late, due_again, upload_again
from tests.support.conversions import DAY

pytestmark = pytest.mark.django_db(transaction=True)

IN_USE = [{"family": "conversion_upload_error", "name": "ORDER_ID_ALREADY_IN_USE"}]


def without_job_id(call: Call) -> bytes:
    """Return the bytes of a request but for our number of the upload, which is new each time."""
    call.request.ClearField("job_id")
    return call.request.SerializeToString()


def test_after_a_timeout_the_same_bytes_go_out_and_a_duplicate_is_success(google, api_site, make_rows) -> None:
    make_rows(api_site, count=3, value="12.50", consent_ad_user_data="GRANTED")
    google.replies.append(applied_but_late)
    upload_due()
    assert {row.outcome_unknown for row in Conversion.objects.all()} == {True}

    # Neither the site's zone nor its name is part of what is sent.
    api_site.time_zone = "America/New_York"
    api_site.save()
    upload_again()

    first, second = google.calls
    assert without_job_id(first) == without_job_id(second)
    for row in Conversion.objects.all():
        assert (row.status, row.provider_error_code, row.outcome_unknown) == ("COMPLETED", "", False)
        assert row.uploaded_at
        assert "the answer to an earlier upload was lost" in english(Event.objects.of(row).last().message)


def test_a_duplicate_with_another_error_is_no_success(google, api_site, make_rows) -> None:
    (row,) = make_rows(api_site, "unlucky")
    google.replies.append(applied_but_late)
    upload_due()
    google.applied.clear()
    google.errors["unlucky"] = [*IN_USE, {"family": "conversion_upload_error", "name": "EXPIRED_EVENT"}]

    upload_again()

    row.refresh_from_db()
    assert (row.status, row.provider_error_code) == ("FAILED", "EXPIRED_EVENT")


def test_a_row_stays_unknown_through_later_errors_until_google_says(google, api_site, make_rows) -> None:
    (row,) = make_rows(api_site, "lost")
    google.replies.append(applied_but_late)
    upload_due()
    google.errors["lost"] = [{"family": "internal_error", "name": "TRANSIENT_ERROR"}]
    upload_again()
    row.refresh_from_db()
    assert row.outcome_unknown

    google.errors.clear()
    upload_again()

    row.refresh_from_db()
    assert row.status == "COMPLETED"


@pytest.mark.parametrize("index", [None, 0, 1])
def test_a_problem_of_googles_own_leaves_every_row_unknown_whatever_row_it_names(
    google, api_site, make_rows, index
) -> None:
    """The request was applied and then broke; what Google says next must not fail those rows."""

    def applied_but_broken(call):
        accept(call)
        call.refuse("INTERNAL", {"family": "internal_error", "name": "INTERNAL_ERROR", "index": index})

    make_rows(api_site, "a", "b")
    google.replies.append(applied_but_broken)

    for _ in range(2):
        upload_due()
        due_again()

    assert set(Conversion.objects.values_list("status", "outcome_unknown")) == {("COMPLETED", False)}


def test_a_refusal_that_names_a_row_is_not_ambiguous(google, api_site, make_rows) -> None:
    make_rows(api_site, "bad", "fine")
    bad = {"family": "field_error", "name": "REQUIRED", "index": 0}
    google.replies.append(lambda call: call.refuse("INVALID_ARGUMENT", bad))
    google.errors["fine"] = IN_USE

    upload_due()

    assert dict(Conversion.objects.values_list("gclid", "provider_error_code")) == {
        "bad": "REQUIRED",
        "fine": "ORDER_ID_ALREADY_IN_USE",
    }


def test_of_twins_in_one_batch_the_first_is_sent_alone(google, api_site, make_rows) -> None:
    """Google would process neither of two conversions of one click and time in a request."""
    when = f"{DAY}T10:00:00+00:00"
    make_rows(api_site, "twin", "twin", "other", conversion_time=when)

    upload_due()

    first, second = google.calls
    assert [row.gclid for row in first.request.conversions] == ["twin", "other"]
    assert [row.gclid for row in second.request.conversions] == ["twin"]
    reported = UploadBatch.objects.order_by("created_at").values_list("size", "accepted", "put_off")
    assert list(reported) == [(3, 2, 1), (1, 1, 0)]


def test_a_twin_that_stayed_here_is_not_in_doubt_when_the_worker_dies(
    google, api_site, make_rows, die_after_sending
) -> None:
    """It was never sent, so Google's "already exists" is about its twin, and no success of its own."""
    sent, stayed = make_rows(api_site, "twin", "twin", conversion_time=f"{DAY}T10:00:00+00:00")

    die_after_sending()

    assert UploadBatch.objects.get().row_ids == [sent.pk]
    Conversion.objects.recover(min_age=-timedelta(minutes=1))
    reported = dict(Conversion.objects.values_list("pk", "outcome_unknown"))
    assert reported == {sent.pk: True, stayed.pk: False}
    stayed.refresh_from_db()
    assert (stayed.status, stayed.attempt_count, stayed.attempts_forgiven) == ("RETRY", 1, 1)


def test_twins_are_what_google_takes_for_twins(google, api_site, make_rows) -> None:
    """The same second and the same action, whatever our names and fractions of it are."""
    make_rows(api_site, "twin", conversion_time=f"{DAY}T10:00:00.1+00:00", action="Satış")
    make_rows(api_site, "twin", conversion_time=f"{DAY}T10:00:00.9+00:00", action="Teklif")

    upload_due()

    assert [len(call.request.conversions) for call in google.calls] == [1, 1]


def test_what_google_is_reported_of_a_row(google, api_site, make_rows) -> None:
    Site.objects.update(denied_consent="SEND")
    (row,) = make_rows(
        api_site,
        "Cj0-abc_1",
        value="12.500",
        consent_ad_user_data="DENIED",
        consent_ad_personalization="GRANTED",  # Google takes it only with lists of users
        conversion_time=f"{DAY}T10:00:00.9+03:00",
    )

    upload_due()

    (call,) = google.calls
    (sent,) = call.request.conversions
    assert (call.request.customer_id, call.request.partial_failure, call.request.validate_only) == (
        "1234567890",
        True,
        False,
    )
    assert (sent.gclid, sent.wbraid, sent.gbraid) == ("Cj0-abc_1", "", "")
    assert sent.conversion_date_time == f"{DAY} 07:00:00+00:00"
    assert (sent.conversion_value, sent.currency_code, sent.order_id) == (12.5, "TRY", row.order_id)
    assert sent.conversion_action == "customers/1234567890/conversionActions/7"
    assert (sent.consent.ad_user_data, sent.consent.ad_personalization) == (3, 0)
    assert "developer-token" not in call.metadata
    assert call.metadata["authorization"].startswith("Bearer a-token")
