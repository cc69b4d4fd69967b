"""What operators do with messages, in bulk and one by one, on those of the endpoints they manage."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.utils.translation import gettext_lazy, gettext_noop

from kilit.bulk.operations import BatchOperation
from kilit.bulk.queues import BulkQueue
from kilit.sites.scopes import scopes_run_by, scopes_seen_by
from kilit.workers import doorbells
from outbox.filters import FILTERS
from outbox.models import OutboxMessage
from outbox.models.message import OutboxMessageQuerySet
from outbox.states import MESSAGES, MessageStatus


class MessageOperation(BatchOperation):
    table = MESSAGES
    model = OutboxMessage
    scope = "scope"
    out_of_reach = gettext_noop("not of an endpoint you manage")

    def within_reach(self, rows: OutboxMessageQuerySet, user: User | AnonymousUser) -> OutboxMessageQuerySet:
        return rows.managed_by(user)

    def move(self, rows: OutboxMessageQuerySet, options: Mapping[str, Any]) -> set[UUID]:
        """Call the queryset's verb of the same name."""
        moved: set[UUID] = getattr(rows.filter(status__in=self.sources), self.verb)()
        doorbells.ring(MESSAGES.queue)
        return moved


class ReplayMessages(MessageOperation):
    @property
    def sources(self) -> tuple[str, ...]:
        """Offer it for delivered messages; failed ones are retried, which is the same."""
        return (MessageStatus.DELIVERED,)


class MessageQueue(BulkQueue):
    def may_act(self, user: User | AnonymousUser) -> bool:
        return super().may_act(user) and scopes_run_by(user) != []

    def may_pause(self, user: User | AnonymousUser) -> bool:
        """Allow it to those who manage all endpoints: it concerns every site."""
        return super().may_act(user) and scopes_run_by(user) is None

    def scopes_seen_by(self, user: User | AnonymousUser) -> list[str] | None:
        return scopes_seen_by(user)

    def visible_to(self, user: User | AnonymousUser) -> OutboxMessageQuerySet:
        return OutboxMessage.objects.visible_to(user)


RETRY = MessageOperation("retry", "retry")
REPLAY = ReplayMessages("replay", "replay")
MARK_FAILED = MessageOperation("mark_failed", "mark_failed")
QUEUE = MessageQueue(
    MESSAGES,
    OutboxMessage,
    FILTERS,
    (RETRY, REPLAY, MARK_FAILED),
    title=gettext_lazy("Webhooks and alerts"),
    well=(MessageStatus.DELIVERED,),
    badly=(MessageStatus.FAILED,),
    paused_title=gettext_lazy("Webhooks paused by %(person)s"),
)
