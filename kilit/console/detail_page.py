"""What every job's page shows besides its fields: its state, what blocks it, what it holds, its history."""

from collections.abc import Callable, Iterable
from typing import Any

from kilit.bulk.queues import BulkQueue
from kilit.console.blockers import Blocker
from kilit.console.diagram import draw
from kilit.console.listing import LongListAdmin
from kilit.lock.failures import Failures
from kilit.lock.models import Event


class DetailPageAdmin(LongListAdmin):
    queue: BulkQueue
    failures: Failures
    find_blockers: Callable[[Any, list[Event]], Iterable[Blocker]] = staticmethod(lambda _row, _timeline: ())
    # What the row holds, or what holds it, each with a label.
    find_holdings: Callable[[Any], list[tuple[str, Any]]] = staticmethod(lambda _row: [])

    change_form_outer_before_template = "admin/console/detail_page.html"
    change_form_outer_after_template = "admin/console/timeline.html"

    def detail_context(self, row: Any) -> dict[str, Any]:
        timeline = Event.objects.history(row)
        return {
            "timeline": timeline,
            "diagram": draw(self.queue.table, row.status, timeline),
            "blockers": list(self.find_blockers(row, timeline)),
            "error": self._error(row),
            "holdings": [(label, value) for label, value in self.find_holdings(row) if value],
        }

    def _error(self, row: Any) -> tuple[str, str] | None:
        if row.status not in self.failures.states:
            return None
        code = getattr(row, self.failures.code)
        return (code, getattr(row, self.failures.message)) if code else None
