"""A conversion is never sent after its restatement, whatever an operator, an import or a change of senders does."""

from itertools import permutations

import pytest
from django.core.management import call_command

from ociqueue.intake.corrections import Correction, replace_rows
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.states import SyncMethod
from ociqueue.uploader.upload_run import SiteTurn, claim, mark_sent
from ociqueue.uploader.verdict_run import ask_for_verdicts
from tests.support.adjustments import adjustment_states, end_everything, restate, retract, sent_values, take_back
from tests.support.later_provider import make_due, send
from tests.support.uploads import change_sender

pytestmark = pytest.mark.django_db

SCRIPT, API, DATA_MANAGER = SyncMethod.SCRIPT, SyncMethod.API, SyncMethod.DATA_MANAGER
ADJUSTED = "it was adjusted; a copy would put its old value back"


@pytest.fixture
def restated(data_manager, dm_site, sold, work):
    restate(dm_site, sold, 80)
    work()
    assert adjustment_states(sold) == [("COMPLETED", "")]
    return sold


def test_an_operator_cannot_send_it_again(data_manager, dm_site, restated, work) -> None:
    rows = Conversion.objects.filter(pk=restated.pk)

    assert not rows.reset_to_queued() | rows.retry_selected() | rows.mark_failed()
    work(2)

    assert sent_values(data_manager, restated) == [120, 80]


def test_a_corrected_copy_is_refused(data_manager, dm_site, restated, work, capsys) -> None:
    """Of a row that the script reported, which Google may have rejected: a copy would have the same order id."""
    Conversion.objects.filter(pk=restated.pk).update(uploaded_at=None)

    (result,) = replace_rows(dm_site, [Correction(str(restated), {"conversionValue": "5"})])
    call_command("oci_enqueue_fix", str(restated), "--site", dm_site.public_id)
    work(2)

    assert result.message == ADJUSTED
    assert "Corrected 0 of 1." in capsys.readouterr().out
    assert sent_values(data_manager, restated) == [120, 80]
    assert Conversion.objects.count() == 1


def test_a_failed_row_with_an_adjustment_is_not_corrected(data_manager, dm_site, make_rows, work) -> None:
    (row,) = make_rows(dm_site, "click-1")
    retract(dm_site, row)

    (result,) = replace_rows(dm_site, [Correction(str(row), {"conversionValue": "5"})])
    work()

    assert result.message == ADJUSTED
    assert not data_manager.uploads


def send_without_answer(site: Site) -> None:
    mark_sent(*claim(site, SiteTurn(Adjustment.objects.for_site(site))))


def wait_for_retry(site: Site) -> None:
    claim(site, SiteTurn(Adjustment.objects.for_site(site)))
    take_back()


def wait(_site: Site) -> None:
    pass


STATES = {"QUEUED": wait, "RETRY": wait_for_retry, "PROCESSING": send_without_answer, "UPLOADED": send}
CASES = [
    (state, *pair)
    for state in STATES
    for pair in permutations((SCRIPT, API, DATA_MANAGER), 2)
    if pair[0] != SCRIPT and (state != "UPLOADED" or pair[0] == DATA_MANAGER)
]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
@pytest.mark.by_day(4)
def test_an_adjustment_survives_a_change_of_sender(senders, make_dm_site, make_rows, case) -> None:
    """Nothing is lost, doubled or sent by the wrong sender; a script sends none, so there it waits."""
    state, before, after = case
    site = make_dm_site(sync_method=before)
    (row,) = make_rows(site, "one")
    send(site)
    make_due()
    ask_for_verdicts()
    restate(site, row, 80)
    STATES[state](site)
    assert adjustment_states(row) == [(state, "")]
    senders.log.clear()

    change_sender(site, after)
    end_everything(site)

    if after == SCRIPT and state != "UPLOADED":
        assert adjustment_states(row)[0][0] in ("QUEUED", "RETRY")
        assert senders.log == []
        change_sender(site, before)
        end_everything(site)
    sender = before if after == SCRIPT else after
    assert adjustment_states(row) == [("COMPLETED", "")]
    assert (senders.log, senders.conflicts) == ([] if state == "UPLOADED" else [(sender, "one=80")], [])


@pytest.mark.parametrize("after", [SCRIPT, API])
def test_an_upload_that_saw_the_old_sender_claims_nothing(data_manager, dm_site, sold, after) -> None:
    restate(dm_site, sold, 80)
    Site.objects.filter(pk=dm_site.pk).update(sync_method=after)

    for sender in (DATA_MANAGER, API):  # retractions go through the second
        _, rows = claim(dm_site, SiteTurn(Adjustment.objects.for_site(dm_site)), sender=sender)
        assert rows == []
