"""Webhooks on the dashboard."""

from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import F, OuterRef, Subquery
from django.utils.translation import gettext_lazy

from kilit.console.dashboard.panels import Panel, PanelItem
from outbox.models import Endpoint, OutboxMessage
from outbox.queue import QUEUE


class OutboxPanel(Panel):
    icon = "outbox"
    queue = QUEUE
    oldest_means = gettext_lazy("Since the message that has been due longest could have been sent.")

    def is_in_use(self, user: User | AnonymousUser) -> bool:
        return Endpoint.objects.visible_to(user).exists() or self.queue.visible_to(user).exists()

    def oldest(self, user: User | AnonymousUser) -> PanelItem | None:
        """Ask each endpoint for its own first message, which an index has; together they may have millions."""
        first = OutboxMessage.objects.due().filter(endpoint=OuterRef("pk")).order_by("next_try_at", "id")
        endpoints = Endpoint.objects.visible_to(user).annotate(
            oldest=Subquery(first.values("pk")[:1]),
            kind=Subquery(first.values("kind")[:1]),
            since=Subquery(first.values("next_try_at")[:1]),
        )
        found: Any = endpoints.order_by(F("since").asc(nulls_last=True)).first()
        if found is None or found.oldest is None:
            return None
        return PanelItem(found.kind, self.row_address(found.oldest), str(found), found.since)
