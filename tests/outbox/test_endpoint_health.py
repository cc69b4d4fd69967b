"""What answers say about an endpoint: whether it works, is to be left alone for a while, or is switched off."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from kilit.workers.doorbells import doorbells
from outbox import sending
from outbox.batches import MessageBatch
from outbox.models import Endpoint, OutboxMessage
from outbox.models.endpoint import OffReason
from outbox.states import MessageStatus
from simulators.webhooks.receiver import WebhookReceiver
from tests.support.outbox import make_all_due, make_message, queue_messages, waits

pytestmark = pytest.mark.django_db


def test_gone_switches_the_endpoint_off_and_the_rest_waits(receiver: WebhookReceiver, endpoint_at) -> None:
    queue_messages(endpoint_at(), 5)
    receiver.behave(status=410)

    sending.send_due()

    endpoint = Endpoint.objects.get()
    assert (endpoint.is_on, endpoint.off_reason, endpoint.off_by) == (False, OffReason.GONE, "worker:outbox")
    assert receiver.counts["/hook"]["received"] == 1
    rest = OutboxMessage.objects.exclude(error_code="GONE")
    assert {(row.status, row.attempt_count - row.attempts_forgiven) for row in rest} == {(MessageStatus.RETRY, 0)}
    assert not doorbells[sending.BELL].is_due()

    receiver.behave()
    Endpoint.objects.all().switch_on()
    make_all_due()
    sending.send_due()
    assert OutboxMessage.objects.filter(status=MessageStatus.DELIVERED).count() == 5


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_honoured_for_the_whole_endpoint(receiver: WebhookReceiver, endpoint_at, status: int) -> None:
    queue_messages(endpoint_at(), 5)
    receiver.behave(status=status, retry_after="600")

    sending.send_due()

    assert receiver.counts["/hook"]["received"] == 1
    assert Endpoint.objects.filter(
        wait_until__range=(Now() + timedelta(minutes=9), Now() + timedelta(minutes=11))
    ).exists()
    (tried,) = OutboxMessage.objects.exclude(error_code="")
    assert tried.next_try_at - tried.updated_at >= timedelta(seconds=600)
    make_all_due()
    assert not doorbells[sending.BELL].is_due()

    receiver.behave()
    Endpoint.objects.update(wait_until=Now())
    sending.send_due()
    assert OutboxMessage.objects.filter(status=MessageStatus.DELIVERED).count() == 5


def test_retry_after_is_limited_and_ignored_on_other_answers(receiver: WebhookReceiver, endpoint_at) -> None:
    endpoint_at("/busy")
    endpoint_at("/broken")
    messages = [make_message(endpoint=endpoint) for endpoint in Endpoint.objects.order_by("pk")]
    receiver.behave("/busy", status=429, retry_after="99999999999")
    receiver.behave("/broken", status=500, retry_after="600")

    sending.send_due()

    busy, broken = (waits(message)[0] for message in messages)
    assert timedelta(hours=23) < busy <= timedelta(hours=24, minutes=1)
    assert broken < timedelta(seconds=7)


def test_success_ends_the_time_of_failing(receiver: WebhookReceiver, endpoint_at) -> None:
    endpoint = endpoint_at(failing_since=Now() - timedelta(days=2))
    make_message(endpoint=endpoint)

    sending.send_due()

    assert Endpoint.objects.get().failing_since is None


@pytest.mark.parametrize(("days", "is_on"), [(2.9, True), (3.1, False)])
def test_three_days_of_failing_switch_the_endpoint_off(receiver, endpoint_at, days: float, is_on) -> None:
    since = Endpoint.objects.filter(pk=endpoint_at().pk)
    since.update(failing_since=Now() - timedelta(days=days))
    before = since.get().failing_since
    make_message()
    receiver.behave(status=500)

    sending.send_due()

    endpoint = since.get()
    assert (endpoint.is_on, endpoint.failing_since) == (is_on, before)
    assert endpoint.off_reason == ("" if is_on else OffReason.FAILING)


def test_a_callback_goes_to_its_own_address_and_says_nothing_about_the_endpoint(receiver, endpoint_at) -> None:
    endpoint = endpoint_at()
    there = make_message(endpoint=endpoint, url=f"{receiver.url}/callback")
    gone = make_message(endpoint=endpoint, url=f"{receiver.url}/gone")
    receiver.behave("/gone", status=410)
    receiver.behave("/hook", status=500)

    sending.send_due()

    there.refresh_from_db()
    gone.refresh_from_db()
    assert (there.status, gone.status, gone.error_code) == (MessageStatus.DELIVERED, MessageStatus.FAILED, "GONE")
    endpoint.refresh_from_db()
    assert (endpoint.is_on, endpoint.failing_since) == (True, None)


@pytest.fixture
def change_endpoint(admin_client: Client) -> Callable[..., None]:
    """Change an endpoint by one of the doors."""

    def change(door: str, endpoint: Endpoint, **columns: str) -> None:
        if door == "API":
            address, sent = f"/api/outbox/endpoints/{endpoint.pk}", columns
            answer = admin_client.patch(address, sent, content_type="application/json")
            assert answer.status_code == 200, answer.content
            return
        current = Endpoint.objects.values("url", "description", "kinds").get(pk=endpoint.pk)
        address = reverse("admin:outbox_endpoint_change", args=[endpoint.pk]).removesuffix("change/") + "settings/"
        assert admin_client.post(address, current | columns).status_code == 302

    return change


@pytest.mark.parametrize("door", ["API", "console"])
def test_a_corrected_address_begins_a_new_clock(receiver, endpoint_at, change_endpoint, door: str) -> None:
    endpoint = endpoint_at("/old")
    failing = {"failing_since": Now() - timedelta(hours=74), "wait_until": Now() + timedelta(hours=20)}
    Endpoint.objects.update(**failing)
    url = f"{receiver.url}/new"

    change_endpoint(door, endpoint, description="Shop")
    assert Endpoint.objects.filter(failing_since=None).count() == 0
    change_endpoint(door, endpoint, url=url)

    endpoint.refresh_from_db()
    assert (endpoint.url, endpoint.failing_since, endpoint.wait_until) == (url, None, None)
    receiver.behave("/new", status=500)
    queue_messages(endpoint, 1)
    sending.send_due()
    assert Endpoint.objects.get().is_on


def test_an_attempt_at_the_old_address_says_nothing_about_the_new_one(receiver, endpoint_at, monkeypatch) -> None:
    endpoint = endpoint_at("/old")
    queue_messages(endpoint, 1)
    receiver.behave("/old", status=410)
    settle = sending.settle

    def correct_meanwhile(batch: MessageBatch) -> None:
        Endpoint.objects.filter(pk=endpoint.pk).update(url=f"{receiver.url}/new")
        settle(batch)

    monkeypatch.setattr(sending, "settle", correct_meanwhile)
    sending.send_due()

    endpoint.refresh_from_db()
    assert (endpoint.is_on, endpoint.failing_since) == (True, None)
