"""Query plans beside many messages: what runs all day reads only those that are due."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kilit.workers.doorbells import doorbells
from outbox import metrics, sending, sweeps
from outbox.api.presenters import message_page
from outbox.models import Endpoint
from outbox.models.endpoint import OffReason
from outbox.replaying import Span, replay
from outbox.schemas import MessagesQuery
from tests.support.outbox import make_endpoint
from tests.support.plans import blocks, crowding, explained, statements, walked

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

TABLE = "outbox_outboxmessage"
ROWS = 100_000
FILL = """
    INSERT INTO outbox_outboxmessage (id, endpoint_id, status, kind, scope, url, body, attempt_count, attempts_forgiven,
      next_try_at, error_code, error_message, delivered_at)
    SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n), 19, '0'))::uuid,
      %s, status, 'test', '', '', '{}', 1, 0, now() + interval '1 hour', '', '',
      CASE WHEN status = 'DELIVERED' THEN now() END
    FROM generate_series(%s, %s) n, (SELECT %s AS status) AS wanted
"""


def listed(endpoints: Any, **query: str) -> dict[str, Any]:
    return message_page(MessagesQuery.read(query), endpoints)


def test_nothing_that_runs_all_day_walks_the_messages(sql) -> None:
    with crowding("outbox_endpoint", TABLE):
        endpoint, off = make_endpoint(), make_endpoint()
        Endpoint.objects.filter(pk=off.pk).switch_off(OffReason.OPERATOR)
        for place, (owner, status) in enumerate([(endpoint, "DELIVERED"), (endpoint, "RETRY"), (off, "RETRY")]):
            sql(FILL, owner.pk, place * ROWS, (place + 1) * ROWS - 1, status)
    chores = {
        "is due": doorbells[sending.BELL].is_due,
        "claim": lambda: sending.claim(endpoint, limit=50),
        "sweep": sweeps.recover,
        "metrics": metrics.oldest_due,
        "replay": lambda: replay(endpoint, Span(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))),
        "list": lambda: listed(None),
        "list of a state": lambda: listed(None, status="FAILED"),
        "list of a kind": lambda: listed(None, kind="site.paused"),
        "list of an endpoint": lambda: listed(None, endpoint=str(off.pk)),
        "list of an endpoint's failures": lambda: listed(None, endpoint=str(off.pk), status="FAILED"),
        "list of a site": lambda: listed(["small"]),
    }

    for name, chore in chores.items():
        ran = statements(chore, over=TABLE)
        assert ran, name
        for statement in ran:
            plan = explained(statement)
            assert walked(plan, TABLE) == [], name
            assert blocks(plan) < 100, (name, statement)
