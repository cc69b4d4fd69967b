"""Every night our own counts are added up; an upload that does not add up is a problem with a link."""

import pytest
from django.db.models.functions import Now

from kilit.problems.kinds import ProblemKind
from kilit.workers import sweeps
from ociqueue.models import ReadBack, Receipt, UploadBatch
from ociqueue.reconcile import self_check
from ociqueue.uploader.upload_run import upload_due
from tests.support.conversions import DAY
from tests.support.dashboard import problems

pytestmark = pytest.mark.django_db(transaction=True)

ADDS_UP = "Uploads that do not add up: 0."


def test_real_uploads_add_up(google, api_site, make_rows) -> None:
    """Of twins one is not sent; one row fails, one is deferred, and others are lost with the answer."""
    make_rows(api_site, "twin", "twin", conversion_time=f"{DAY}T10:00:00+00:00")
    make_rows(api_site, "a", "FAIL-UNPARSEABLE_GCLID-1", "FAIL-TOO_RECENT_CONVERSION_ACTION-1")
    upload_due()
    make_rows(api_site, "b", "c")
    google.replies.append(lambda call: call.refuse("UNAVAILABLE"))
    upload_due()

    assert sweeps.run("oci_self_check") == ADDS_UP
    assert UploadBatch.objects.filter(unsent__gt=0).exists()


@pytest.mark.parametrize("column", ["accepted", "received", "failed", "put_off", "late", "unsent"])
def test_an_upload_that_does_not_add_up_is_a_problem(google, api_site, make_rows, admin_user, column) -> None:
    make_rows(api_site, "a")
    upload_due()
    batch = UploadBatch.objects.get()
    setattr(batch, column, getattr(batch, column) + 1)
    batch.save()

    assert self_check.check_uploads() == "Uploads that do not add up: 1."

    (problem,) = problems(ProblemKind.UPLOAD_MISCOUNTED, admin_user)
    assert problem.link == f"/admin/ociqueue/uploadbatch/{batch.pk}/change/"
    assert api_site.name in problem.title

    setattr(batch, column, getattr(batch, column) - 1)
    batch.save()
    assert self_check.check_uploads() == ADDS_UP
    assert problems(ProblemKind.UPLOAD_MISCOUNTED, admin_user) == []


def test_a_verdict_that_was_not_settled_for_each_row_is_found(google, api_site, make_rows) -> None:
    rows = make_rows(api_site, "a", "b")
    upload_due()
    receipt = Receipt.objects.create(
        batch=UploadBatch.objects.get(), request_id="r", row_ids=[row.pk for row in rows], next_check_at=Now()
    )
    assert self_check.check_uploads() == ADDS_UP  # there is no verdict yet

    Receipt.objects.mark_settled(receipt.pk, confirmed=1)
    assert self_check.check_uploads() == "Uploads that do not add up: 1."

    Receipt.objects.update(put_off=1)
    assert self_check.check_uploads() == ADDS_UP
    assert ReadBack.objects.get().miscounted == []
