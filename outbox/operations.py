"""How the list of messages is narrowed, and what operators do with those of their endpoints."""

import re
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from kilit.api.webhooks import TEST, webhook_kinds
from kilit.batches.filters import ChoiceFilter
from kilit.batches.item_filter import queue_filters
from kilit.batches.operations import VerbOperation
from kilit.batches.search import Found, PrefixSearch
from kilit.sites.scopes import scope_choices, scopes_seen_by
from outbox.errors import ERRORS
from outbox.models import Endpoint, OutboxMessage
from outbox.models.message import FAILURES, OutboxMessageQuerySet
from outbox.states import MESSAGES, MessageStatus

MOST_FOUND = 500  # messages about one job
# What ids of messages and jobs begin with, such as msg_ and pdf_.
PREFIX = re.compile(r"^[a-z]+_", re.IGNORECASE)


def _sites_of(user: User | AnonymousUser) -> list[tuple[str, str]]:
    scopes = scopes_seen_by(user)
    names = [(scope, name) for scope, name in scope_choices().items() if scopes is None or scope in scopes]
    return sorted(names, key=lambda site: site[1].casefold())


def _endpoints_of(user: User | AnonymousUser) -> list[tuple[str, str]]:
    return [(str(endpoint.pk), str(endpoint)) for endpoint in Endpoint.objects.visible_to(user)]


def _kinds(_user: object) -> list[tuple[str, str]]:
    return [(name, name) for name in (*webhook_kinds, TEST)]


class MessageSearch(PrefixSearch):
    """Finds a message by its id, with or without msg_, and all messages about a job by the job's id."""

    def __call__(self, rows: Any, text: str) -> Any:
        with suppress(ValueError):
            pk = UUID(PREFIX.sub("", text))
            return rows.filter(Q(pk=pk) | Q(object_id=pk))
        return rows.none()

    def first(self, rows: object, text: str, *, most: int = MOST_FOUND) -> Found:
        ids = list(self(rows, text).order_by("pk").values_list("pk", flat=True)[: most + 1])
        return Found(ids[:most], is_capped=len(ids) > most)


FILTERS = queue_filters(
    FAILURES,
    ChoiceFilter(name="kind", title=_("event"), column="kind", index="message_of_kind", leads=True, choices=_kinds),
    ChoiceFilter(
        name="endpoint", title=_("endpoint"), column="endpoint", index="message_of_endpoint", choices=_endpoints_of
    ),
    ChoiceFilter(name="site", title=_("site"), column="scope", index="message_of_scope", choices=_sites_of),
    ChoiceFilter(
        name="code",
        title=_("error code"),
        column="error_code",
        where=Q(status=MessageStatus.FAILED),
        choices=[(code, code) for code in ERRORS],
    ),
    search=MessageSearch(()),
    scopes_seen_by=scopes_seen_by,
)


class MessageOperation(VerbOperation):
    table = MESSAGES
    model = OutboxMessage
    scope = "scope"
    out_of_reach = gettext_noop("not of an endpoint you manage")

    def within_reach(self, rows: OutboxMessageQuerySet, user: User | AnonymousUser) -> OutboxMessageQuerySet:
        return rows.managed_by(user)


class ReplayMessages(MessageOperation):
    @property
    def sources(self) -> tuple[str, ...]:
        """Offer it for delivered messages; failed ones are retried, which is the same."""
        return (MessageStatus.DELIVERED,)


RETRY = MessageOperation("retry", "retry")
SEND_NOW = MessageOperation("send_now", "send_now")
REPLAY = ReplayMessages("replay", "replay")
MARK_FAILED = MessageOperation("mark_failed", "mark_failed")
