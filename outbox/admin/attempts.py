"""The attempts to send a message, for its page: when, how long, what was answered."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from outbox.error_meanings import explain_code
from outbox.models import Attempt, OutboxMessage
from outbox.models.endpoint import hide_query

MOST_SHOWN = 50


@dataclass(frozen=True)
class ShownAttempt:
    number: int
    at: datetime
    took: str
    status: int | None
    outcome: str
    detail: str
    headers: Mapping[str, str]
    answer: str


def attempts_of(message: OutboxMessage) -> list[ShownAttempt]:
    """Return the last attempts, newest first."""
    newest = Attempt.objects.filter(message_id=message.pk).order_by("-id")[:MOST_SHOWN]
    return [_shown(attempt, message.address) for attempt in newest]


def _shown(attempt: Attempt, url: str) -> ShownAttempt:
    outcome = explain_code(attempt.error_code) or attempt.error_message if attempt.error_code else _("Delivered.")
    return ShownAttempt(
        number=attempt.number,
        at=attempt.started_at,
        took=_("%(number)s s") % {"number": number_format(attempt.seconds, 2)},
        status=attempt.response_code,
        outcome=outcome,
        detail=hide_query(attempt.error_message, url) if attempt.error_code else "",
        headers={name: hide_query(str(value), url) for name, value in attempt.request_headers.items()},
        answer=hide_query(attempt.answer, url),
    )


def pretty_body(message: OutboxMessage) -> str:
    try:
        body: Any = json.loads(message.body)
    except ValueError:  # the text of an alert
        return message.body
    return json.dumps(body, indent=2, ensure_ascii=False)
