"""A replay sends what ended in a span again, under its own id, and what was never sent."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now

from kilit.lock.models import Event
from outbox import log_reader, replaying
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.replaying import Replay, ReplayRefused, Span, id_before
from outbox.states import MessageStatus
from tests.apps.parcels.models import Parcel
from tests.support.outbox import make_endpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("parcel_kind")]

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
AROUND_NOON = Span(NOON - timedelta(minutes=30), NOON + timedelta(minutes=30))


def carry(number: int, *, at: datetime = NOON) -> None:
    """Let parcels be carried at a time: events are never changed, so the trigger that says so is switched off."""
    before = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    Parcel.objects.bulk_create([Parcel() for _ in range(number)])
    Parcel.objects.claim(limit=number)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE lock_event DISABLE TRIGGER USER")
        cursor.execute("UPDATE lock_event SET created_at = %s WHERE id > %s", [at, before])
        cursor.execute("ALTER TABLE lock_event ENABLE TRIGGER USER")


def end(**counts: int) -> None:
    """Let the first waiting messages end, each in a state."""
    for state, number in counts.items():
        rows = OutboxMessage.objects.claim(limit=number)
        held = OutboxMessage.objects.held_by(*rows)
        if state == "delivered":
            held.settle("deliver", delivered_at=Now())
        else:
            held.settle("fail", error_code="HTTP_500", error_message="500")


def states() -> dict[str, int]:
    found = list(OutboxMessage.objects.values_list("status", flat=True))
    return {status: found.count(status) for status in sorted(set(found))}


def test_ended_messages_of_the_span_are_sent_again_under_their_ids() -> None:
    endpoint = make_endpoint()
    carry(1, at=NOON - 5 * HOUR)
    carry(3)
    carry(1, at=NOON + 5 * HOUR)
    log_reader.read_log()
    ids = set(OutboxMessage.objects.values_list("pk", flat=True))
    end(delivered=3, failed=2)

    result = Replay(endpoint, AROUND_NOON).run()

    assert (result.replayed, result.created, result.resume_after) == (3, 0, None)
    assert set(OutboxMessage.objects.values_list("pk", flat=True)) == ids
    assert states()[MessageStatus.QUEUED] == 3
    queued = OutboxMessage.objects.filter(status=MessageStatus.QUEUED)
    assert all('"2026-11-01T12:00:00Z"' in message.body for message in queued)


def test_what_waits_or_is_being_sent_is_left_alone() -> None:
    endpoint = make_endpoint()
    carry(2)
    log_reader.read_log()
    OutboxMessage.objects.claim(limit=1)

    assert Replay(endpoint, AROUND_NOON).run().replayed == 0
    assert states() == {"QUEUED": 1, "SENDING": 1}


def test_only_failed_ones_are_sent_again_if_asked() -> None:
    endpoint = make_endpoint()
    carry(3)
    log_reader.read_log()
    end(delivered=1, failed=2)

    result = Replay(endpoint, AROUND_NOON, failed_only=True).run()

    assert (result.replayed, result.created) == (2, 0)
    assert states() == {"DELIVERED": 1, "QUEUED": 2}


def test_what_happened_while_it_was_off_is_sent_once() -> None:
    endpoint = make_endpoint()
    mine = Endpoint.objects.filter(pk=endpoint.pk)
    mine.switch_off(OffReason.OPERATOR)
    carry(3)
    mine.switch_on()
    endpoint.refresh_from_db()
    assert log_reader.read_log() == 0

    first, second = Replay(endpoint, AROUND_NOON).run(), Replay(endpoint, AROUND_NOON).run()

    assert (first.created, second.created) == (3, 0)
    assert OutboxMessage.objects.count() == 3


def test_only_its_own_kinds_and_site_are_sent() -> None:
    make_endpoint()
    deaf, elsewhere = make_endpoint(kinds=["site.paused"]), make_endpoint(scope="another")
    carry(2)

    assert Replay(deaf, AROUND_NOON).run().created == 0
    assert Replay(elsewhere, AROUND_NOON).run().created == 0


def test_the_messages_of_other_endpoints_are_left_alone() -> None:
    make_endpoint()
    other = make_endpoint()
    carry(1)
    log_reader.read_log()
    end(delivered=2)

    Replay(other, AROUND_NOON).run()

    assert [message.endpoint for message in OutboxMessage.objects.filter(status="QUEUED")] == [other]


def test_it_stops_after_its_time_and_continues_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replaying, "BATCH", 2)
    endpoint = make_endpoint()
    carry(6)
    after, created, calls = None, 0, 0

    while calls == 0 or after is not None:
        result = Replay(endpoint, AROUND_NOON).run(after=after, seconds=0)
        after, created, calls = result.resume_after, created + result.created, calls + 1

    assert created == 6
    assert calls >= 3


def test_a_message_is_found_when_its_event_was_pruned() -> None:
    endpoint = make_endpoint()
    carry(1)
    log_reader.read_log()
    end(delivered=1)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE lock_event DISABLE TRIGGER USER")
        cursor.execute("DELETE FROM lock_event WHERE queue = 'parcel'")
        cursor.execute("ALTER TABLE lock_event ENABLE TRIGGER USER")
    created_at = OutboxMessage.objects.get().created_at

    assert Replay(endpoint, AROUND_NOON).run().replayed == 0
    assert Replay(endpoint, Span(created_at - HOUR, created_at + HOUR)).run().replayed == 1


def test_an_event_of_a_long_transaction_is_found() -> None:
    """It began before others that got smaller ids."""
    endpoint = make_endpoint()
    carry(2, at=NOON + timedelta(minutes=40))
    carry(1)

    assert Replay(endpoint, AROUND_NOON).run().created == 1


def test_an_endpoint_that_is_off_is_refused() -> None:
    endpoint = make_endpoint()
    Endpoint.objects.switch_off(OffReason.OPERATOR)
    endpoint.refresh_from_db()

    with pytest.raises(ReplayRefused, match="off"):
        Replay(endpoint, AROUND_NOON).run()


def test_the_ids_of_a_time_are_found_by_halving(django_assert_max_num_queries) -> None:
    make_endpoint()
    for hours in range(5):
        carry(4, at=NOON + hours * HOUR)
    events = list(Event.objects.filter(queue="parcel", event_type="STATE_CARRIED").order_by("pk"))
    eighth = events[8]

    with django_assert_max_num_queries(30):
        found = id_before(NOON + 2 * HOUR)

    assert events[7].pk <= found < eighth.pk
    assert id_before(NOON - 9 * HOUR) < events[0].pk


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("outbox_replay", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_replays_and_says_how_many() -> None:
    endpoint = make_endpoint()
    carry(2)
    span = ["--endpoint", str(endpoint.pk), "--from", "2026-11-01T11:00Z", "--to", "2026-11-01T13:00Z"]

    assert run(*span, "--dry-run") == "Would send 0 again and 2 that it has not received.\n"
    assert OutboxMessage.objects.count() == 0
    assert run(*span) == "Queued 0 again and 2 that it has not received.\n"
    end(delivered=2)
    assert run(*span, "--failed-only") == "Queued 0 again and 0 that it has not received.\n"
    assert run(*span) == "Queued 2 again and 0 that it has not received.\n"
    moved = Event.objects.filter(queue="message", details__verb="replay").first()
    assert moved.actor == "command:outbox_replay"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--endpoint", "01936f2e-5a0f-7a1c-8b3e-4f9d8c0a2e55", "--from", "2026-11-01"], "There is no endpoint"),
        (["--endpoint", "x", "--from", "2026-11-01"], "UUID"),
        (["--endpoint", "01936f2e-5a0f-7a1c-8b3e-4f9d8c0a2e55", "--from", "noon"], "is not a time such as"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run(*arguments)


def test_the_command_refuses_a_span_that_ends_before_it_begins() -> None:
    endpoint = make_endpoint()

    with pytest.raises(CommandError, match="before"):
        run("--endpoint", str(endpoint.pk), "--from", "2026-11-02", "--to", "2026-11-01")
