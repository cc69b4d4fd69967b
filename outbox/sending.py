"""What a worker does with messages: claim, send, settle.

The main thread claims and settles; a few threads send, a batch each (outbox.batches). No transaction is open while a
message is sent. So that no endpoint holds up the others:

- An endpoint has at most `IN_FLIGHT` claimed messages, over all workers, and `MOST_BATCHES` threads of a worker.
- A batch has as many messages as the endpoint's pace allows in half a second: one, if the endpoint is slow.
- Endpoints that are slow or failing use at most half of the threads together.
"""

import logging
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now

from kilit.lock.audit import acting_as
from kilit.lock.models.queue_pause import is_not_paused
from kilit.lock.outages import keep_trying
from kilit.outgoing.post import Poster
from kilit.workers import doorbells
from outbox.batches import MessageBatch
from outbox.models import Endpoint, OutboxMessage
from outbox.settling import TRY_FOR, settle
from outbox.states import MESSAGES, MessageStatus

logger = logging.getLogger(__name__)

BELL = MESSAGES.queue
ACTOR = "worker:outbox"
# After this a worker starts no more batches, rings again and returns, so that other tasks get their turn.
TURN = 10.0  # seconds
THREADS = 16
IN_FLIGHT = 100  # claimed messages of one endpoint
MOST_BATCHES = 8  # of one endpoint, in one worker
MOST_MESSAGES = 50  # in one batch
BATCH_SECONDS = 0.5
SLOW = 1.0  # seconds for a message
LOOK_AGAIN_AFTER = 0.25  # seconds; messages may have become due, or another worker's have been settled


def sendable_endpoints() -> "QuerySet[Endpoint]":
    messages = OutboxMessage.objects.filter(endpoint=OuterRef("pk"))
    sending = messages.filter(status=MessageStatus.SENDING).order_by().values("endpoint")
    in_flight = Coalesce(Subquery(sending.annotate(number=Count("pk")).values("number")), 0)
    waited = Q(wait_until=None) | Q(wait_until__lte=Now())
    ready = Endpoint.objects.on().filter(waited, Exists(messages.due()), is_not_paused(MESSAGES))
    return ready.alias(in_flight=in_flight).filter(in_flight__lt=IN_FLIGHT)


def untaken() -> "dict[type[OutboxMessage], QuerySet[Endpoint]]":
    """Return endpoints with messages that are due for long, of which none is being sent: not those of a slow one."""
    messages, cutoff = OutboxMessage.objects.filter(endpoint=OuterRef("pk")), Now() - doorbells.UNTAKEN_AFTER
    sending, for_long = messages.filter(status=MessageStatus.SENDING), messages.due().filter(next_try_at__lt=cutoff)
    free = sendable_endpoints().filter(~Exists(sending), ~Q(wait_until__gt=cutoff))
    return {OutboxMessage: free.filter(Exists(for_long))}


def claim(endpoint: Endpoint, *, limit: int) -> list[OutboxMessage]:
    """Claim messages of an endpoint, as many as may be in flight.

    The lock on the endpoint's row lets one worker at a time count and claim, so the limit holds over all workers.
    New messages do not wait for this lock.
    """
    with transaction.atomic():
        list(Endpoint.objects.filter(pk=endpoint.pk).select_for_update(no_key=True).values_list("pk"))
        messages = OutboxMessage.objects.filter(endpoint=endpoint.pk)
        room = IN_FLIGHT - messages.filter(status=MessageStatus.SENDING).count()
        return messages.claim(limit=min(limit, room)) if room > 0 else []


def send_due() -> None:
    """Send messages for a while. If more are due then, ring for another turn."""
    with acting_as(ACTOR), Poster(settings.WEBHOOK_PRIVATE_ADDRESSES) as poster, ThreadPoolExecutor(THREADS) as pool:
        _Turn(poster, pool).run(until=time.monotonic() + TURN)
    doorbells.ring_if_due(BELL)


# How long a message to an endpoint took lately, as this process has seen it.
paces: dict[UUID, float] = {}


class _Turn:
    def __init__(self, poster: Poster, pool: ThreadPoolExecutor) -> None:
        self.poster, self.pool = poster, pool
        self.running: dict[Future[MessageBatch], Endpoint] = {}

    def run(self, *, until: float) -> None:
        while True:
            # While slow endpoints keep this turn from ending, the others are still served.
            is_over = time.monotonic() > until
            if not (is_over and self._all_are_quick()):
                self._start_batches(only_quick=is_over)
            if not self.running:
                return
            ended = wait(self.running, timeout=LOOK_AGAIN_AFTER, return_when=FIRST_COMPLETED).done
            for future in ended:
                self._end(future, self.running.pop(future))

    def _end(self, future: Future[MessageBatch], endpoint: Endpoint) -> None:
        if error := future.exception():
            # Its lease runs out, which counts as an attempt: a message that breaks the sender must end too.
            logger.error("a batch for %s broke off", endpoint, exc_info=error)
            return
        batch = future.result()
        paces[endpoint.pk] = batch.pace
        # Unless the answer is stored, the receiver gets the messages a second time.
        keep_trying(lambda: settle(batch), seconds=TRY_FOR, what=f"what {endpoint} answered")

    def _start_batches(self, *, only_quick: bool) -> None:
        """Start batches, one for each endpoint in turns, until there are no more messages or threads."""
        waiting = list(sendable_endpoints()) if len(self.running) < THREADS else []
        waiting.sort(key=self._batches_of)  # those with the fewest first
        while waiting:
            waiting = [row for row in waiting if self._may_start(row, only_quick=only_quick) and self._start(row)]

    def _may_start(self, endpoint: Endpoint, *, only_quick: bool) -> bool:
        # Until its pace is known, an endpoint has one batch.
        most = MOST_BATCHES if endpoint.pk in paces else 1
        has_room = len(self.running) < THREADS and self._batches_of(endpoint) < most
        return has_room and (is_quick(endpoint) or (not only_quick and self._has_slow_threads()))

    def _start(self, endpoint: Endpoint) -> bool:
        """Start a batch; return whether the endpoint may have messages for another."""
        size = int(BATCH_SECONDS / max(paces.get(endpoint.pk, SLOW / 10), 0.001))
        limit = min(max(size, 1), MOST_MESSAGES)
        if messages := claim(endpoint, limit=limit):
            batch = MessageBatch(endpoint, messages).prepare()
            self.running[self.pool.submit(batch.send, self.poster)] = endpoint
        return len(messages) == limit

    def _batches_of(self, endpoint: Endpoint) -> int:
        return sum(other.pk == endpoint.pk for other in self.running.values())

    def _has_slow_threads(self) -> bool:
        return sum(not is_quick(endpoint) for endpoint in self.running.values()) < THREADS // 2

    def _all_are_quick(self) -> bool:
        return all(is_quick(endpoint) for endpoint in self.running.values())


def is_quick(endpoint: Endpoint) -> bool:
    return endpoint.failing_since is None and paces.get(endpoint.pk, 0.0) < SLOW
