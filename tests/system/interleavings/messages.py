"""Who may meet on a message to an endpoint."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from kilit.lock.audit import acting_as
from kilit.outgoing.results import PostError, PostResult
from outbox import endpoints, sending
from outbox.batches import MessageBatch, Try
from outbox.models import Endpoint, OutboxMessage
from outbox.settling import settle
from tests.support.outbox import make_delivered_message, make_endpoint, make_failed_message, make_message, make_old
from tests.system.interleavings.meeting import LATE, SWEEP, Person, Queue, World

ACCEPTED = PostResult(0.1, status=200)
REFUSED = PostResult(0.1, status=500, error=PostError.HTTP_5XX)
GONE = PostResult(0.1, status=410, error=PostError.GONE)
EVERYWHERE = ("new", "waits to retry", "claimed", "failed", "done")


def own(world: World) -> Any:
    return OutboxMessage.objects.filter(pk=world.row.pk)


def place(make: Callable[..., OutboxMessage], *, is_on: bool = True) -> Callable[[], World]:
    def put() -> World:
        endpoint = make_endpoint()
        world = World(make(endpoint=endpoint), {"endpoint": endpoint})
        if not is_on:
            endpoints.switch(endpoint, on=False, why="")
        return world

    return put


def claimed() -> World:
    """Return a message whose sender is slow: it has sent it, and its lease is over."""
    world = place(make_message)()
    (world.row,) = sending.claim(world.others["endpoint"], limit=1)
    world.note(f"sent {world.row.pk}")
    own(world).update(lease_until=Now() - timedelta(seconds=1))
    return world


def waiting(**columns: Any) -> OutboxMessage:
    message = make_message(**columns)
    claimed = OutboxMessage.objects.claim(limit=1)
    OutboxMessage.objects.held_by(*claimed).retry_later(error_code="HTTP_5XX", error_message="It did not work.")
    OutboxMessage.objects.update(next_try_at=Now())
    message.refresh_from_db()
    return message


def send(world: World, result: PostResult = ACCEPTED) -> None:
    endpoint = Endpoint.objects.on().filter(pk=world.others["endpoint"].pk).first()
    if endpoint and (messages := sending.claim(endpoint, limit=10)):
        for message in messages:
            world.note(f"sent {message.pk}")
        answer(endpoint, messages, result)


def answer(endpoint: Endpoint, messages: list[OutboxMessage], result: PostResult) -> None:
    batch = MessageBatch(endpoint, messages)
    batch.tries = [Try(message, message.created_at, {}, result) for message in messages]
    settle(batch)


def late(result: PostResult) -> Callable[[World], None]:
    return lambda world: answer(world.others["endpoint"], [world.row], result)


def give_back(world: World) -> None:
    settle(MessageBatch(world.others["endpoint"], [world.row]))


def take_over(world: World) -> None:
    with acting_as(SWEEP):
        OutboxMessage.objects.recover()
    send(world)


def switch(*, on: bool) -> Callable[[World], object]:
    return lambda world: endpoints.switch(world.others["endpoint"], on=on, why="")


def check(world: World) -> Iterator[str]:
    """A message is sent once for each claim, and delivered only if it was sent."""
    world.row.refresh_from_db()
    sent = sum(what == f"sent {world.row.pk}" for what, _by in world.effects)
    if sent > world.row.attempt_count:
        yield f"it was sent {sent} times, with {world.row.attempt_count} attempts"


MESSAGES = Queue(
    "message",
    (OutboxMessage,),
    places={
        "new": place(make_message),
        "waits to retry": place(waiting),
        "claimed": claimed,
        "failed": place(make_failed_message),
        "done": place(make_delivered_message),
        "off": place(make_message, is_on=False),
        "off for days": place(make_old, is_on=False),
    },
    people={
        "send": Person("worker:outbox", send, ("new", "waits to retry", "off", "off for days")),
        "send in vain": Person("worker:outbox", lambda w: send(w, REFUSED), ("new", "waits to retry")),
        "delivered late": Person(LATE, late(ACCEPTED), ("claimed",)),
        "failed late": Person(LATE, late(REFUSED), ("claimed",)),
        "gone": Person(LATE, late(GONE), ("claimed",)),
        "give back": Person(LATE, give_back, ("claimed",)),
        "take over": Person("worker:next", take_over, ("claimed",)),
        "recover": Person("sweep:outbox_recover", lambda _: OutboxMessage.objects.recover(), ("claimed",)),
        "retry": Person("operator:ayse", lambda w: own(w).retry(), ("failed",)),
        "replay": Person("operator:can", lambda w: own(w).replay(), ("failed", "done")),
        "send now": Person("operator:ece", lambda w: own(w).send_now(), ("waits to retry",)),
        "mark failed": Person(
            "operator:ali", lambda w: own(w).mark_failed(), ("new", "waits to retry", "off", "off for days")
        ),
        "expire": Person("sweep:outbox_recover", lambda _: OutboxMessage.objects.expire(), ("off for days",)),
        "switch off": Person("operator:nur", switch(on=False), EVERYWHERE),
        "switch on": Person("operator:eda", switch(on=True), ("off", "off for days")),
    },
    check=check,
)
