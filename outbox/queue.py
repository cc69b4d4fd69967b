"""The queue of webhooks and alerts."""

from datetime import timedelta

from django.contrib.auth.models import AnonymousUser, User
from django.utils.translation import gettext_lazy as _

from kilit.api.callbacks import register_callback_origins
from kilit.api.queue_api import QueueApi
from kilit.batches.queues import Keeping, Queue, register
from kilit.lock.free_text import FreeText
from kilit.problems.tracking import problems_tracked, register_readers
from kilit.sites.scopes import scopes_run_by, scopes_seen_by
from kilit.workers.doorbells import Doorbell, due_for_long
from kilit.workers.sweeps import Sweep
from outbox import endpoints, log_reader, sending, sweeps
from outbox.alerts import making
from outbox.alerts import sending as alert_sending
from outbox.errors import ERRORS
from outbox.metrics import OutboxCollector, oldest_due
from outbox.models import Attempt, Channel, Endpoint, OutboxMessage
from outbox.models.message import OutboxMessageQuerySet, about, attempts_about, jobs_of, jobs_of_attempts
from outbox.operations import FILTERS, MARK_FAILED, REPLAY, RETRY, SEND_NOW
from outbox.states import MESSAGES


class MessageQueue(Queue):
    def scopes_run_by(self, user: User | AnonymousUser) -> list[str] | None:
        return scopes_run_by(user)

    def may_pause(self, user: User | AnonymousUser) -> bool:
        """Allow it to those who manage all endpoints: it concerns every site."""
        return self.may_operate(user) and self.scopes_run_by(user) is None

    def scopes_seen_by(self, user: User | AnonymousUser) -> list[str] | None:
        return scopes_seen_by(user)

    def visible_to(self, user: User | AnonymousUser) -> OutboxMessageQuerySet:
        return OutboxMessage.objects.visible_to(user)


QUEUE = MessageQueue(
    MESSAGES,
    OutboxMessage,
    FILTERS,
    (RETRY, SEND_NOW, REPLAY, MARK_FAILED),
    title=_("Webhooks and alerts"),
    errors=ERRORS,
    work=sending.send_due,
    due=lambda: [sending.sendable_endpoints()],
    untaken=sending.untaken,
    doorbells=[
        Doorbell(log_reader.BELL, due=log_reader.due_rows, handler=log_reader.read_log),
        Doorbell(
            making.BELL,
            due=lambda: [OutboxMessage.objects.claimable_alerts()],
            handler=alert_sending.send_alerts,
            untaken=lambda: due_for_long(OutboxMessage.objects.claimable_alerts(), "next_try_at"),
        ),
    ],
    sweeps=[
        Sweep(
            "outbox_recover",
            every=timedelta(minutes=1),
            run=sweeps.recover,
            about=_("Takes messages back from workers that died or hang, and fails those that waited too long."),
            due=sweeps.unfinished,
        ),
        Sweep(
            "outbox_prune",
            every=timedelta(hours=1),
            run=sweeps.prune,
            about=_("Deletes old messages and attempts."),
        ),
    ],
    # What identifies a person may be quoted here, also by a receiver in its answer.
    free_text=[
        FreeText(OutboxMessage, ("body", "error_message"), about=about, jobs=jobs_of),
        FreeText(Attempt, ("answer", "error_message"), about=attempts_about, jobs=jobs_of_attempts),
        FreeText(Endpoint, ("description",)),
    ],
    keeping=Keeping.UNTIL_PRUNED,
    encrypted={Endpoint: ("encrypted_secret", "previous_secret"), Channel: ("encrypted_address",)},
    paused_title=_("Webhooks paused by %(person)s"),
    oldest=oldest_due,
    metrics=[OutboxCollector()],
    api=QueueApi(
        "api/outbox/",
        "outbox.api.urls",
        tags={"Webhooks": "Messages posted to your endpoints, and the endpoints themselves."},
        kinds={"/api/outbox/": "api_webhooks"},
    ),
)
register(QUEUE)
register_callback_origins(endpoints.callback_origins)
register_readers(making.channel_owners)
problems_tracked.connect(making.make_alerts, dispatch_uid="outbox.alerts")
