"""Endpoints and messages as the API shows them."""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from django.db.models import QuerySet

from kilit.api.cursor import page_body
from kilit.api.presenter import present
from kilit.lock.identity import CLOCKS_DIFFER_BY, first_at
from kilit.sentences import english
from kilit.sites.scopes import scope_public_ids
from outbox.models import Attempt, Endpoint, OutboxMessage
from outbox.models.endpoint import hide_query
from outbox.models.message import OutboxMessageQuerySet
from outbox.schemas import AttemptShown, EndpointShown, MessageDetail, MessageShown, MessagesQuery
from outbox.states import WAITING

MOST_ATTEMPTS = 100


def present_endpoint(endpoint: Endpoint, *, is_manager: bool, public_ids: Mapping[str, str] | None = None) -> Any:
    public_ids = scope_public_ids() if public_ids is None else public_ids
    return present(
        endpoint,
        EndpointShown,
        id=str(endpoint.pk),
        site_id=public_ids.get(endpoint.scope, endpoint.scope) or None,
        url=endpoint.url if is_manager else endpoint.shown_url,
        previous_secret_until=endpoint.previous_until,
    )


def present_endpoints(endpoints: Iterable[Endpoint], managed: QuerySet[Endpoint]) -> list[object]:
    managed_ids, public_ids = set(managed.values_list("pk", flat=True)), scope_public_ids()
    return [present_endpoint(row, is_manager=row.pk in managed_ids, public_ids=public_ids) for row in endpoints]


def message_page(query: MessagesQuery, scopes: list[str] | None) -> dict[str, object]:
    rows = OutboxMessage.objects.filter(endpoint__isnull=False).select_related("endpoint").defer("body")
    rows = rows.filter(status=query.status.value) if query.status else rows
    rows = rows.filter(kind=query.kind) if query.kind else rows
    if query.since:
        rows = rows.filter(pk__gte=first_at(query.since - CLOCKS_DIFFER_BY), created_at__gte=query.since)
    rows = rows.filter(pk__lt=query.cursor) if query.cursor else rows
    if query.endpoint:
        rows = rows.filter(endpoint=query.endpoint)
    return page_body("messages", _newest(rows, scopes, limit=query.limit + 1), query.limit, present_message)


def _newest(rows: OutboxMessageQuerySet, scopes: list[str] | None, *, limit: int) -> list[OutboxMessage]:
    """Return the newest rows. Of several sites, each is asked by its own index: together they would be sorted."""
    newest = rows.order_by("-pk")
    if scopes is None:
        return list(newest[:limit])
    candidates = chain.from_iterable(newest.filter(scope=scope)[:limit] for scope in scopes)
    return sorted(candidates, key=lambda row: row.pk, reverse=True)[:limit]


def present_message(message: OutboxMessage) -> MessageShown:
    return present(message, MessageShown, **_values(message))


def present_message_detail(message: OutboxMessage) -> MessageDetail:
    newest = Attempt.objects.filter(message_id=message.pk).order_by("-pk")[:MOST_ATTEMPTS]
    attempts = [
        present(
            attempt,
            AttemptShown,
            answer=hide_query(attempt.answer, message.address),
            error_message=english(attempt.error_message),
        )
        for attempt in reversed(newest)
    ]
    return present(message, MessageDetail, **_values(message), attempts=attempts)


def _values(message: OutboxMessage) -> dict[str, object]:
    return {
        "id": message.webhook_id,
        "endpoint_id": str(message.endpoint_id),
        "url": message.shown_address,
        "error_message": english(message.error_message),
        "next_try_at": message.next_try_at if message.status in WAITING else None,
    }
