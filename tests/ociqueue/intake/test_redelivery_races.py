"""Corrections by a source key that meet other corrections, claims and retries."""

import pytest

from ociqueue.models import Conversion, Site
from tests.support.redelivered import ORDER, claim, fail, only, send
from tests.support.turns import one_after_the_other

pytestmark = pytest.mark.django_db(transaction=True)


def correct_by_key(site: Site, gclid: str) -> str:
    return send(site, gclid=gclid)["status"]


def test_of_two_corrections_at_once_the_second_corrects_what_the_first_left(site) -> None:
    send(site, gclid="broken")
    failed = fail()

    statuses = one_after_the_other(lambda: correct_by_key(site, "one"), lambda: correct_by_key(site, "two"))

    assert statuses == ["corrected", "corrected"]
    assert [copy.gclid for copy in Conversion.objects.filter(replaces=failed)] == ["two"]
    assert Conversion.objects.count() == 2


def test_a_correction_that_waits_for_a_claim_leaves_the_row_as_it_was_sent(site) -> None:
    send(site)

    _, status = one_after_the_other(claim, lambda: correct_by_key(site, "late"))

    assert (status, only().gclid, only().status) == ("duplicate", ORDER["gclid"], "PROCESSING")


def test_a_correction_that_waits_for_a_retry_changes_the_queued_row(site) -> None:
    send(site, gclid="broken")
    fail()

    _, status = one_after_the_other(
        lambda: Conversion.objects.all().retry_selected(), lambda: correct_by_key(site, "right")
    )

    assert (status, only().gclid, only().status) == ("corrected", "right", "QUEUED")
