"""Every committed event with a subscriber has one message, whatever commits late and however many readers there are."""

import json
import threading
from dataclasses import replace

import pytest
from django.db import connection, transaction

from kilit.api.webhooks import Described, webhook_kinds
from kilit.workers.doorbells import doorbells
from outbox import log_reader
from outbox.models import LogPosition, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.models.position import WEBHOOKS
from tests.apps.parcels.models import Parcel
from tests.support.outbox import make_endpoint
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("parcel_kind")]


def read_all() -> int:
    return sum(iter(log_reader.read_log, 0))


def reported() -> list:
    return sorted(OutboxMessage.objects.values_list("object_id", flat=True))


def test_a_move_is_reported_once_with_what_is_said_about_it() -> None:
    endpoint = make_endpoint()
    parcel = Parcel.objects.create()
    Parcel.objects.claim(limit=1)

    assert doorbells[log_reader.BELL].is_due()
    read_all()

    (message,) = OutboxMessage.objects.all()
    assert (message.endpoint, message.kind, message.object_id) == (endpoint, "parcel.carried", parcel.pk)
    body = json.loads(message.body)
    assert (body["type"], body["data"]) == ("parcel.carried", {"id": str(parcel.pk)})
    assert body["timestamp"].startswith("20")
    assert message.webhook_id == f"msg_{message.pk.hex}"


def test_what_happened_before_the_first_endpoint_is_not_reported() -> None:
    Parcel.objects.create()
    Parcel.objects.claim(limit=1)
    make_endpoint()

    assert read_all() == 0


def test_an_endpoint_that_was_off_gets_what_happens_from_now_on() -> None:
    endpoint = make_endpoint()
    mine = type(endpoint).objects.filter(pk=endpoint.pk)
    mine.switch_off(OffReason.OPERATOR)
    Parcel.objects.create()
    Parcel.objects.claim(limit=1)
    assert not doorbells[log_reader.BELL].is_due()

    mine.switch_on()
    later = Parcel.objects.create()
    Parcel.objects.claim(limit=1)
    read_all()

    assert reported() == [later.pk]


def test_a_move_that_is_rolled_back_is_not_reported() -> None:
    make_endpoint()
    Parcel.objects.bulk_create([Parcel(), Parcel()])
    with transaction.atomic():
        Parcel.objects.claim(limit=1)
        transaction.set_rollback(True)
    Parcel.objects.claim(limit=1)

    read_all()

    assert reported() == list(Parcel.objects.filter(status="CARRIED").values_list("pk", flat=True))


def test_an_event_that_commits_late_is_not_skipped() -> None:
    """The first transaction gets the lower ids and commits last."""
    make_endpoint()
    Parcel.objects.bulk_create([Parcel(), Parcel()])
    has_moved, may_commit = threading.Event(), threading.Event()

    def move_slowly() -> None:
        try:
            with transaction.atomic():
                Parcel.objects.claim(limit=1)
                has_moved.set()
                assert may_commit.wait(PATIENCE)
        finally:
            connection.close()

    slow = threading.Thread(target=move_slowly)
    slow.start()
    assert has_moved.wait(PATIENCE)
    Parcel.objects.claim(limit=1)  # commits first, with a higher id
    made = log_reader.read_log()
    may_commit.set()
    slow.join(PATIENCE)
    assert made == 0, "it must wait for the first transaction"
    read_all()

    assert reported() == sorted(Parcel.objects.values_list("pk", flat=True))


def test_readers_at_the_same_time_make_one_message_for_each_event(in_threads) -> None:
    make_endpoint()
    Parcel.objects.bulk_create(Parcel() for _ in range(300))
    done = threading.Event()

    def work(number: int) -> None:
        if number:
            while not done.is_set():
                log_reader.read_log()
            return
        for _ in range(30):
            Parcel.objects.claim(limit=10)
        done.set()

    in_threads(work, count=4)
    read_all()

    assert reported() == sorted(Parcel.objects.values_list("pk", flat=True))


def test_a_reader_that_dies_before_its_commit_starts_there_again() -> None:
    make_endpoint()
    Parcel.objects.create()
    Parcel.objects.claim(limit=1)
    before = LogPosition.objects.get(name=WEBHOOKS).event_id

    with transaction.atomic():
        assert log_reader._read_span() == 1
        transaction.set_rollback(True)

    assert LogPosition.objects.get(name=WEBHOOKS).event_id == before
    read_all()
    assert len(reported()) == 1


def test_endpoints_of_a_site_hear_of_their_own_site_only(monkeypatch, parcel_kind) -> None:
    whole, mine, other = make_endpoint(), make_endpoint(scope="site-1"), make_endpoint(scope="site-2")
    of_site = replace(parcel_kind, describe=lambda events: {event.pk: Described({}, "site-1") for event in events})
    monkeypatch.setitem(webhook_kinds, parcel_kind.name, of_site)
    Parcel.objects.create()
    Parcel.objects.claim(limit=1)

    read_all()

    # Each belongs to the site of its endpoint: members of a site see nothing of the installation's.
    assert dict(OutboxMessage.objects.values_list("endpoint", "scope")) == {whole.pk: "", mine.pk: "site-1"}
    assert not other.messages.exists()
