"""Dead letters: the failed rows that a list's filters leave, as a CSV file (CON-7)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext_lazy

from lifecycle.console.dress import button
from lifecycle.spreadsheet import CHUNK, csv_answer, csv_lines

NOT_KEPT = ("status", "p")


class DeadLetters:
    """Offers the file over a list, by the same filters."""

    dead_letter_columns: Sequence[str] = ()
    dead_letter_cells: Callable[[Any], list[Any]]  # of a row, in the order of the columns
    dead_letter_states: Sequence[str] = ("FAILED",)

    @button(
        description=gettext_lazy("Dead letters (CSV)"), icon="download", permissions=["view"], url_path="dead-letters"
    )
    def dead_letters(self, request: HttpRequest) -> StreamingHttpResponse:
        """Stream the failed rows; a server-side cursor keeps memory the same for any number."""
        asked = request.GET.copy()
        for name in NOT_KEPT:
            asked.pop(name, None)
        request.GET = asked  # type: ignore[assignment]
        rows = self.get_changelist_instance(request).get_queryset(request)  # type: ignore[attr-defined]
        return csv_answer("dead-letters", self.dead_letter_lines(rows))

    def dead_letter_lines(self, rows: Any) -> Iterator[str]:
        """Give the file line by line."""
        failed = rows.filter(status__in=self.dead_letter_states).order_by("pk")
        return csv_lines(
            self.dead_letter_columns, (self.dead_letter_cells(row) for row in failed.iterator(chunk_size=CHUNK))
        )

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Let the file keep the list's filters."""
        response: Any = super().changelist_view(request, extra_context)  # type: ignore[misc]
        for offered in getattr(response, "context_data", {}).get("actions_list", []):
            if offered["path"].endswith("/dead-letters/") and request.GET:
                offered["path"] += f"?{request.GET.urlencode()}"
        return response  # type: ignore[no-any-return]
