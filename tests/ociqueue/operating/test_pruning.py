"""Retention: finished rows go when they are old, with their events, and in no other way."""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from kilit.lock import pruning
from kilit.lock.audit import acting_as
from kilit.lock.identity import first_at
from kilit.lock.models import Count, ErrorGroup, Event, Pruning
from kilit.sentences import english
from kilit.workers import sweeps
from kilit.workers.registrations import register_pruning
from ociqueue.models import Conversion, Receipt, Site, UploadBatch
from ociqueue.models.sending import failure
from tests.support.commands import output_of
from tests.support.conversions import new_conversion
from tests.support.turns import one_within_the_other
from tests.support.uploads import received

pytestmark = pytest.mark.django_db
A_YEAR_AGO = datetime.now(UTC) - timedelta(days=365)
MONTH = timedelta(days=30)


@pytest.fixture
def make_old(site: Site) -> Callable[..., Conversion]:
    """Make a row as it would be after a year, by its verbs."""

    def make(*verbs: str, since: datetime = A_YEAR_AGO, **columns) -> Conversion:
        pk = UUID(int=first_at(since).int | secrets.randbits(60))
        row = new_conversion(site, id=pk, created_at=since, **columns)
        row.save()
        for verb in verbs:
            error = failure("NO", "PERMANENT", "no") if verb == "ack_failed" else {}
            row.move(verb, **({"claimed_at": since} if verb == "claim" else error))
        Conversion.objects.filter(pk=pk).update(updated_at=since)
        return row

    return make


def make_upload(site: Site, since: datetime, *, is_settled: bool = True) -> UploadBatch:
    pk = UUID(int=first_at(since).int | secrets.randbits(60))
    times = {"created_at": since, "sent_at": since, "answered_at": since}
    batch = UploadBatch.objects.create(id=pk, site=site, size=1, **times)
    end = {"settled_at": since} if is_settled else {"next_check_at": since}
    Receipt.objects.create(id=pk, batch=batch, row_ids=[], request_id=str(pk), received_at=since, **end)
    return batch


def test_uploads_go_with_their_receipts_once_they_hold_no_row(site: Site) -> None:
    make_upload(site, A_YEAR_AGO)
    held, asked = make_upload(site, A_YEAR_AGO), make_upload(site, A_YEAR_AGO, is_settled=False)
    recent = make_upload(site, datetime.now(UTC) - timedelta(days=20))
    newest, rows = received(site)
    Conversion.objects.filter(pk=rows[0].pk).update(open_batch=held)

    gone = pruning.prune(older_than=timedelta(days=10))

    assert gone == {"receipt": 2, "upload": 1}
    assert set(UploadBatch.objects.all()) == {held, asked, recent, newest}


def ids() -> set[UUID]:
    return set(Conversion.objects.values_list("pk", flat=True))


def test_what_ended_long_ago_goes_with_its_events_and_leaves_a_record(site: Site, make_old) -> None:
    done, failed = make_old("claim", "ack"), make_old("claim", "ack_failed")
    waiting, held = make_old(), make_old("claim")
    recent = make_old("claim", "ack", since=datetime.now(UTC) - timedelta(days=29))

    with acting_as("command:prune", reason="tidy"):
        gone = pruning.prune(older_than=MONTH)

    assert gone == {"conversion": 2}
    assert ids() == {waiting.pk, held.pk, recent.pk}
    assert not Event.objects.filter(object_id__in=[done.pk, failed.pk]).exists()
    assert Event.objects.filter(object_id=recent.pk).count() == 3
    assert Count.objects.by_state(queue="conversion", scopes=[str(site.pk)]) == {
        "QUEUED": 1,
        "PROCESSING": 1,
        "COMPLETED": 1,
    }
    (first, second) = Pruning.objects.order_by("id")  # one for each state
    assert (first.queue, first.rows, first.events, first.states) == ("conversion", 1, 3, {"COMPLETED": 1})
    assert (second.rows, second.states, second.actor, second.message) == (1, {"FAILED": 1}, "command:prune", "tidy")
    assert first.newest == A_YEAR_AGO


def test_counts_stay_exact_when_they_are_folded_too(site: Site, make_old) -> None:
    for _ in range(3):
        make_old("claim", "ack")
    Count.objects.fold()

    pruning.prune(older_than=MONTH)

    Count.objects.fold()
    assert Count.objects.by_state(queue="conversion") == {}


def test_what_goes_leaves_its_error_group(site: Site, make_old) -> None:
    make_old("claim", "ack_failed")
    make_old("claim", "ack_failed", since=datetime.now(UTC) - timedelta(days=29))
    ErrorGroup.objects.fold()

    pruning.prune(older_than=MONTH)

    ErrorGroup.objects.fold()
    assert ErrorGroup.objects.get(queue="conversion", scope=str(site.pk), state="FAILED").total == 1


def test_pruning_goes_batch_by_batch(make_old, monkeypatch) -> None:
    monkeypatch.setattr(pruning, "BATCH", 2)
    for _ in range(5):
        make_old("claim", "ack")

    assert pruning.prune(older_than=MONTH) == {"conversion": 5}

    assert sorted(Pruning.objects.values_list("rows", flat=True)) == [1, 2, 2]
    assert pruning.prune(older_than=MONTH) == {}


@pytest.mark.parametrize(
    ("verbs", "before"),
    [(("claim", "ack"), ""), (("claim", "ack_failed"), ""), *product([(), ("claim",)], ["", "infinity"])],
)
def test_no_row_is_deleted_by_hand_and_no_live_one_by_naming_a_time(make_old, sql, verbs, before: str) -> None:
    make_old(*verbs)
    sql("SELECT set_config('kilit.prune_before', %s, true)", before)

    with pytest.raises(IntegrityError, match="cannot be deleted"), transaction.atomic():
        sql("DELETE FROM offline_conversion_queue")


def test_what_is_younger_than_a_day_stays_whatever_is_asked(make_old, sql) -> None:
    young = make_old("claim", "ack", since=datetime.now(UTC) - timedelta(hours=23))
    sql("SELECT set_config('kilit.prune_before', 'infinity', true)")

    with pytest.raises(IntegrityError, match="cannot be deleted"), transaction.atomic():
        sql("DELETE FROM offline_conversion_queue")

    sql("SELECT set_config('kilit.prune_before', '', true)")
    assert pruning.prune(older_than=timedelta(0)) == {}
    assert ids() == {young.pk}


def test_whoever_deletes_by_hand_the_way_pruning_does_leaves_the_same_record(make_old, sql) -> None:
    make_old("claim", "ack")
    sql("SELECT set_config('kilit.prune_before', (now() - interval '30 days')::text, true)")

    sql("DELETE FROM offline_conversion_queue")

    (record,) = Pruning.objects.all()
    assert (record.rows, record.events) == (1, 3)
    assert record.actor == sql("SELECT session_user")[0][0]


def test_events_go_with_their_row_alone(make_old, sql) -> None:
    make_old("claim", "ack")
    sql("SELECT set_config('kilit.prune_before', 'infinity', true)")

    with pytest.raises(IntegrityError, match="events cannot be deleted"), transaction.atomic():
        sql("DELETE FROM lock_event")


@pytest.mark.parametrize("statement", ["DELETE FROM", "UPDATE", "TRUNCATE"])
def test_the_record_stays_for_ever(make_old, sql, statement: str) -> None:
    make_old("claim", "ack")
    pruning.prune(older_than=MONTH)

    with pytest.raises(IntegrityError, match="records of pruning cannot be"), transaction.atomic():
        sql(f"{statement} lock_pruning" + (" SET rows = 0" if statement == "UPDATE" else ""))


def test_a_row_that_was_replaced_goes_after_its_copy(make_old) -> None:
    original = make_old("claim", "ack")
    copy = make_old("claim", "ack", since=A_YEAR_AGO + timedelta(seconds=1), replaces=original)

    assert pruning.prune(older_than=MONTH) == {"conversion": 1}
    assert copy.pk not in ids()
    assert pruning.prune(older_than=MONTH) == {"conversion": 1}

    assert ids() == set()


@pytest.mark.django_db(transaction=True)
def test_a_row_that_an_operator_is_retrying_stays(make_old) -> None:
    row = make_old("claim", "ack_failed")

    moved, gone = one_within_the_other(
        Conversion.objects.filter(pk=row.pk).retry_selected, lambda: pruning.prune(older_than=MONTH)
    )

    assert (moved, gone) == ({row.pk}, {})
    assert Conversion.objects.get().status == "QUEUED"


@pytest.mark.django_db(transaction=True)
def test_two_runs_at_once_share_the_work(make_old, in_threads, monkeypatch) -> None:
    monkeypatch.setattr(pruning, "BATCH", 3)
    for _ in range(20):
        make_old("claim", "ack")

    reported = in_threads(lambda _: pruning.prune(older_than=MONTH).get("conversion", 0), count=3)

    left = Conversion.objects.count()
    assert sum(reported) + left == 20
    assert sum(Pruning.objects.values_list("rows", flat=True)) == sum(reported)
    assert Count.objects.by_state(queue="conversion") == ({"COMPLETED": left} if left else {})


def test_the_command_says_what_it_would_do_and_does_it(make_old) -> None:
    make_old("claim", "ack")

    said = partial(output_of, "prune", "--older-than-days", "30")

    assert said("--dry-run") == "Would prune 1 of conversion.\n"
    assert len(ids()) == 1
    assert said("--queue", "conversion") == "Pruned 1 of conversion.\n"
    assert said() == "Pruned nothing.\n"
    assert english(Pruning.objects.get().message) == "finished more than 30 days ago"


def test_everything_is_kept_unless_somebody_says_otherwise(settings, monkeypatch) -> None:
    monkeypatch.setattr(sweeps, "sweeps", {})
    register_pruning()

    assert "prune" not in sweeps.sweeps
    with pytest.raises(CommandError, match="Everything is kept"):
        call_command("prune")


def test_the_schedule_prunes_where_a_retention_is_set(settings, monkeypatch, make_old) -> None:
    settings.KEEP_FINISHED_DAYS = 30
    monkeypatch.setattr(sweeps, "sweeps", {})
    register_pruning()
    make_old("claim", "ack")

    assert sweeps.run("prune") == "Pruned 1 of conversion."

    assert Pruning.objects.get().actor == "sweep:prune"


def test_pruning_reads_an_index_from_its_old_end(site: Site, make_old, sql) -> None:
    """A retention that has nothing to do must cost nothing."""
    for _ in range(50):
        make_old("claim", "ack")
    sql("SET LOCAL enable_seqscan = off")

    question = pruning._old(Conversion.objects.for_site(site).filter(status="COMPLETED"), A_YEAR_AGO)

    assert "Index Cond" in question.order_by("pk").explain()
