"""What every job's page says beside its fields: where it stands, why it does not move, what it holds, its history."""

from typing import Any

from kilit.console.blockers import Reason
from kilit.console.diagram import draw
from kilit.console.listing import LongListAdmin
from kilit.lock.failures import Failures
from kilit.lock.models import Event
from kilit.lock.table import Lifecycle


class StandingAdmin(LongListAdmin):
    """Rows of a lifecycle, each with a page that tells all of it."""

    table: Lifecycle
    failures: Failures

    change_form_outer_before_template = "admin/console/standing.html"
    change_form_outer_after_template = "admin/console/timeline.html"

    def about(self, row: Any) -> dict[str, Any]:
        """Return what a row's page shows besides its fields; Django's own history knows nothing of verbs."""
        timeline = Event.objects.history(row)
        return {
            "timeline": timeline,
            "diagram": draw(self.table, row.status, timeline),
            "reasons": self.reasons(row, timeline),
            "error": self._error(row),
            "holdings": [(label, value) for label, value in self.holdings(row) if value],
        }

    def _error(self, row: Any) -> tuple[str, str] | None:
        if row.status not in self.failures.states:
            return None
        code = getattr(row, self.failures.code)
        return (code, getattr(row, self.failures.message)) if code else None

    def reasons(self, row: Any, timeline: list[Event]) -> list[Reason]:
        """Say why the row does not move; each queue knows its own reasons."""
        return []

    def holdings(self, row: Any) -> list[tuple[str, Any]]:
        """Return what the row holds, or what holds it, by name; each queue knows its own."""
        return []
