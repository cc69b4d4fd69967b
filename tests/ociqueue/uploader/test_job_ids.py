"""Each upload has a number of its own, under which Google reports what it counted."""

import pytest
from django.db import connection

from ociqueue.models import UploadBatch
from ociqueue.models.batch import JOB_IDS
from ociqueue.uploader.providers import provider_for
from ociqueue.uploader.upload_run import upload_due
from simulators.googleads.server import accept
from tests.support.uploads import LIST, html

pytestmark = pytest.mark.django_db(transaction=True)


def unnamed(call):
    call.refuse("INVALID_ARGUMENT")


def test_an_upload_keeps_its_number_and_the_one_google_answered(google, api_site, make_rows) -> None:
    make_rows(api_site, count=2)

    upload_due()

    batch = UploadBatch.objects.get()
    assert batch.job_id == batch.answered_job_id == google.calls[0].request.job_id > 0


def test_every_request_of_an_upload_has_its_number(google, api_site, make_rows) -> None:
    make_rows(api_site, count=4)
    google.replies.extend([unnamed, accept, accept])

    upload_due()

    assert [call.request.job_id for call in google.calls] == [UploadBatch.objects.get().job_id] * 3


def test_only_the_number_differs_when_the_same_rows_are_sent_again(google, api_site, make_rows) -> None:
    rows = make_rows(api_site, count=3)
    provider = provider_for(api_site)

    first, second = (provider.build(rows, dry_run=False, job_id=number) for number in (1, 2**31 - 1))

    assert first.SerializeToString() != second.SerializeToString()
    first.ClearField("job_id")
    second.ClearField("job_id")
    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)


def test_the_numbers_start_over_after_the_last_that_google_takes(api_site) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval(%s, 2147483646)", [JOB_IDS])

    assert [UploadBatch.objects.next_job_id() for _ in range(2)] == [2**31 - 1, 1]


def test_the_page_of_an_upload_shows_its_number(google, api_site, make_rows, make_person) -> None:
    make_rows(api_site, count=1)
    upload_due()
    UploadBatch.objects.update(job_id=4711, answered_job_id=4712)

    page = html(
        make_person("fatma", role="admin", sites={api_site: "admin"}), f"{LIST}{UploadBatch.objects.get().pk}/change/"
    )

    assert "4711; Google answered 4712" in page


def test_what_google_answered_is_counted_by_conversion_name(google, api_site, make_rows) -> None:
    make_rows(api_site, "a", "FAIL-UNPARSEABLE_GCLID-1", action="Sale")
    make_rows(api_site, "b", "FAIL-TOO_RECENT_CONVERSION_ACTION-1", action="Lead")

    upload_due()

    assert UploadBatch.objects.get().by_action == {
        "Sale": {"accepted": 1, "failed": 1},
        # Deferred here, and a failure in Google's summary.
        "Lead": {"accepted": 1, "failed": 1},
    }


REVOKED = {"family": "authentication_error", "name": "OAUTH_TOKEN_REVOKED"}


@pytest.mark.parametrize(
    ("refusal", "counted"), [(["UNAVAILABLE"], {"Sale": {"unknown": 2}}), (["UNAUTHENTICATED", REVOKED], {})]
)
def test_rows_of_a_lost_answer_are_counted_as_unknown_and_refused_ones_not_at_all(
    google, api_site, make_rows, refusal, counted
) -> None:
    make_rows(api_site, count=2, action="Sale")
    google.replies.append(lambda call: call.refuse(*refusal))

    upload_due()

    assert UploadBatch.objects.get().by_action == counted
