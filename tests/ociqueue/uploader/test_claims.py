"""Whose rows they are: uploaders, sweeps and operators at once, and sites side by side (rule 4)."""

from datetime import timedelta
from threading import Event as Signal
from unittest.mock import Mock

import pytest
from django.db import connection

from kilit.lock.models import Event
from ociqueue.models import Conversion, UploadBatch
from ociqueue.models.batch import UploadBatchQuerySet
from ociqueue.states import Disposition
from ociqueue.uploader import upload_run
from ociqueue.uploader.googleads.provider import GoogleAds
from ociqueue.uploader.results import RowResult
from ociqueue.uploader.upload_run import due_sites, upload_due
from simulators.googleads.server import accept
from tests.support.uploads import next_turn
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_uploaders_share_the_work_and_send_nothing_twice(google, api_site, make_rows, in_threads) -> None:
    make_rows(api_site, count=30)

    in_threads(lambda _: upload_due(), count=4)

    assert set(api_site.conversions.values_list("status", flat=True)) == {"COMPLETED"}
    sent = [row.order_id for call in google.calls for row in call.request.conversions]
    assert len(sent) == len(set(sent)) == 30


def test_a_swept_uploader_cannot_settle_what_it_no_longer_holds(google, api_site, make_rows) -> None:
    """Rule 4: the answer comes after a sweep took the rows back; it changes nothing, and the next upload finds out."""
    make_rows(api_site, count=3)
    found = []

    def swept(call):
        Conversion.objects.for_site(api_site).recover(min_age=-timedelta(minutes=1))
        connection.close()
        return accept(call)

    def look(call):
        found.extend(Conversion.objects.values_list("uploaded_at", "outcome_unknown"))
        connection.close()
        return accept(call)

    google.replies.extend([swept, look])

    tally = upload_due()

    assert found == [(None, True)] * 3
    assert (tally.late, tally.accepted) == (3, 3)
    assert Event.objects.filter(event_type="LATE_ANSWER").count() == 3
    assert list(UploadBatch.objects.order_by("created_at").values_list("late", "accepted")) == [(3, 0), (0, 3)]


def terminate(pid: int) -> None:
    """End another thread's connection, as an administrator or a restart does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    connection.close()


def test_an_answer_outlives_the_connection_that_was_lost_meanwhile(google, api_site, make_rows, sql) -> None:
    """Google has answered: nothing is sent again because the database was unavailable for a moment."""
    make_rows(api_site, count=3)
    ((pid,),) = sql("SELECT pg_backend_pid()")

    def lose(call):
        terminate(pid)
        return accept(call)

    google.replies.append(lose)

    tally = upload_due()

    assert tally.accepted == 3
    assert set(Conversion.objects.values_list("status", "attempt_count")) == {("COMPLETED", 1)}
    assert len(google.calls) == 1


def test_an_answer_settles_once(google, api_site, make_rows) -> None:
    """The connection may be lost after the commit and before its confirmation: settling again changes nothing."""
    make_rows(api_site, count=2)
    batch, rows = upload_run.claim(api_site, next_turn(api_site))
    upload_run.mark_sent(batch, rows)
    taken = [RowResult(Disposition.ACCEPTED, request_id="r" * 100)] * 2

    first = upload_run.settle(batch, rows, taken)
    again = upload_run.settle(batch, rows, taken)

    assert (again.accepted, again.late) == (first.accepted, first.late) == (2, 0)
    assert UploadBatch.objects.values_list("accepted", "request_id").get() == (2, "r" * 64), "cut to its column"
    assert not Event.objects.filter(event_type="LATE_ANSWER").exists()


def test_a_batch_that_was_swept_before_it_was_sent_is_not_sent(google, api_site, make_rows) -> None:
    make_rows(api_site, count=2)
    batch, rows = upload_run.claim(api_site, next_turn(api_site))
    Conversion.objects.recover(min_age=-timedelta(minutes=1))

    assert upload_run.mark_sent(batch, rows) == []
    assert UploadBatch.objects.get().sent_at is None
    assert not Conversion.objects.filter(outcome_unknown=True).exists()


@pytest.mark.parametrize("answer", [RuntimeError("a bug of theirs"), [RowResult(Disposition.ACCEPTED)]])
def test_a_provider_that_fails_by_itself_leaves_no_row_claimed(
    google, api_site, make_rows, monkeypatch, answer
) -> None:
    """What was sent is unknown: each row is retried, as it may have reached Google."""
    make_rows(api_site, count=2)
    monkeypatch.setattr(GoogleAds, "upload", Mock(side_effect=[answer]))

    tally = upload_due()

    assert tally.put_off == 2
    reported = set(Conversion.objects.values_list("status", "outcome_unknown", "provider_error_code"))
    assert reported == {("RETRY", True, "UPLOADER_ERROR")}


def test_an_operator_who_resets_while_rows_go_out_leaves_them_unknown(google, api_site, make_rows, in_threads) -> None:
    """A sweep or operator who takes a row after the upload was marked as sent knows that it was."""
    make_rows(api_site, count=50)

    def act(number: int):
        if number == 0:
            upload_due()
        else:
            for _ in range(40):
                Conversion.objects.filter(status="PROCESSING").reset_to_queued()

    in_threads(act, count=2)
    upload_due()

    assert len(google.applied) == 50
    assert set(Conversion.objects.values_list("status", flat=True)) == {"COMPLETED"}


def test_sites_take_turns_over_several_runs(google, make_api_site, make_rows) -> None:
    sites = [make_api_site(name=name) for name in "abc"]
    for number, site in enumerate(sites * 3):
        make_rows(site, f"click-{number}")
        # The first due site is served, and new rows arrive for all.
    for _ in range(3):
        upload_run.UploadRun(due_sites())._turn(due_sites()[0])
        for site in sites:
            make_rows(site, f"more-{site}")

    assert set(UploadBatch.objects.values_list("site__name", flat=True)) == {"a", "b", "c"}


def test_one_sites_accident_is_no_other_sites(google, make_api_site, make_rows, monkeypatch) -> None:
    broken, fine = make_api_site(name="broken"), make_api_site(name="fine")
    make_rows(broken, count=1)
    make_rows(fine, count=1)
    real = upload_run.next_turn
    monkeypatch.setattr(upload_run, "next_turn", lambda site, rows: 1 / 0 if site == broken else real(site, rows))

    tally = upload_due()

    assert "failed, see the log" in str(tally)
    assert set(fine.conversions.values_list("status", flat=True)) == {"COMPLETED"}


TAKEN_BACK = {
    "recover": lambda: Conversion.objects.recover(min_age=-timedelta(minutes=1)),
    "reset": lambda: Conversion.objects.filter(pk__isnull=False).reset_to_queued(),
    "mark failed": lambda: Conversion.objects.filter(pk__isnull=False).mark_failed(),
    "cap": lambda: Conversion.objects.cap(max_attempts=1),
}


@pytest.mark.parametrize("way", TAKEN_BACK)
@pytest.mark.parametrize("is_guarded", [True, False], ids=["guarded", "without the guard"])
def test_what_is_taken_back_while_it_goes_out_is_known_to_have_gone_out(
    *, google, api_site, make_rows, in_threads, monkeypatch, way: str, is_guarded: bool
) -> None:
    """The upload has said that it is sent, and has not committed yet; the other comes in between."""
    make_rows(api_site, count=2)
    batch, rows = upload_run.claim(api_site, next_turn(api_site))
    looked, taken = Signal(), Signal()
    mark = upload_run.mark_rows_sent

    def slowly(*args):
        marked = mark(*args)
        looked.set()
        taken.wait(1 if is_guarded else PATIENCE)  # with the guard the other waits
        return marked

    monkeypatch.setattr(upload_run, "mark_rows_sent", slowly)
    if not is_guarded:
        monkeypatch.setattr(UploadBatchQuerySet, "lock", lambda _self, _batches: None)

    def act(number: int) -> object:
        if number:
            assert looked.wait(PATIENCE)
            TAKEN_BACK[way]()
            taken.set()
            return None
        return upload_run.mark_sent(batch, rows)

    went, _ = in_threads(act, count=2)

    assert len(went) == 2
    assert set(Conversion.objects.values_list("status", flat=True)) != {"PROCESSING"}
    assert set(Conversion.objects.values_list("outcome_unknown", flat=True)) == {is_guarded}


def test_an_answer_and_whoever_takes_the_rows_back_do_not_lock_each_other_out(
    google, api_site, make_rows, in_threads, monkeypatch
) -> None:
    """Both lock rows first and then the upload; the other way round one of them would be a deadlock's victim."""
    make_rows(api_site, count=3)
    batch, rows = upload_run.claim(api_site, next_turn(api_site))
    rows = upload_run.mark_sent(batch, rows)
    rows_locked, never = Signal(), Signal()
    keep = UploadBatchQuerySet.lock

    def slowly(self, batches):
        rows_locked.set()
        never.wait(1)  # time for the answer to come as far as it comes
        return keep(self, batches)

    monkeypatch.setattr(UploadBatchQuerySet, "lock", slowly)

    def act(number: int) -> object:
        if number:
            return Conversion.objects.recover(min_age=-timedelta(minutes=1))
        assert rows_locked.wait(PATIENCE)
        return upload_run.settle(batch, rows, [RowResult(Disposition.ACCEPTED)] * 3)

    tally, recovered = in_threads(act, count=2)

    assert recovered == 3
    assert (tally.accepted, tally.late) == (0, 3)
    assert set(Conversion.objects.values_list("status", "outcome_unknown")) == {("RETRY", True)}
