"""What became of rows after an action: how many are in which state now, each number a link to the list."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from kilit.console.formatting import number as grouped
from kilit.console.lists.actions import Action
from kilit.console.lists.bulk_requests import BulkRequestAdmin, encode

LAST_ACTION = "kilit_last_action"  # in the session
FOLLOWED_FOR = 600  # seconds
MOST_FOLLOWED = 500


@dataclass(frozen=True)
class RowsNow:
    """How many rows are in a state now; `is_again` if the action applies to them once more."""

    state: str
    count: int
    href: str
    is_again: bool

    def __str__(self) -> str:
        text = _("%(number)s %(state)s again") if self.is_again else _("%(number)s %(state)s")
        return text % {"number": grouped(self.count), "state": self.state}


def count_now(rows: Any, action: Action, address: Callable[[str], str]) -> list[RowsNow]:
    """Count rows by state, in the order of the table; `address` gives the list of a state."""
    counts = dict(rows.order_by().values_list("status").annotate(Count("pk")))
    states = [state for state in action.operation.table.states if counts.get(state)]
    return [RowsNow(state, counts[state], address(state), state in action.sources) for state in states]


class FollowUpAdmin(BulkRequestAdmin):
    """Shows over the list what became of the rows of the user's last action: workers may reject them at once."""

    def remember(self, request: HttpRequest, action: Action, ids: Sequence[UUID]) -> None:
        named = [str(pk) for pk in ids[:MOST_FOLLOWED]]
        of = {"model": self.opts.label, "action": action.name, "ids": named, "at": time.time()}
        request.session[LAST_ACTION] = of

    def follow_up(self, request: HttpRequest) -> dict[str, Any] | None:
        last = request.session.get(LAST_ACTION)
        if not last or last["model"] != self.opts.label or last["at"] < time.time() - FOLLOWED_FOR:
            return None
        action = self.action_named(last["action"])
        rows = self.queue.visible_to(request.user).filter(pk__in=last["ids"])
        listed = self.address("changelist")
        return {
            "title": action.title,
            "rows": count_now(rows, action, lambda state: f"{listed}?{encode({'status': state})}"),
        }

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"follow_up": self.follow_up(request), **(extra_context or {})})
