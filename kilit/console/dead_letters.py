"""Dead letters: the failed rows that a list's filters leave, as a CSV file."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.api.csv_files import CHUNK, csv_lines, csv_response
from kilit.console.actions import in_words
from kilit.console.formatting import button


class DeadLetters:
    """Offers the file over a list, by the same filters."""

    dead_letter_columns: Sequence[str] = ()
    dead_letter_cells: Callable[[Any], list[Any]]  # of a row, in the order of the columns
    dead_letter_states: Sequence[str] = ("FAILED",)

    @button(
        description=gettext_lazy("Dead letters (CSV)"), icon="download", permissions=["view"], url_path="dead-letters"
    )
    def dead_letters(self, request: HttpRequest) -> HttpResponseBase:
        """Stream the failed rows; a server-side cursor keeps memory the same for any number."""
        back = HttpResponseRedirect(f"{self.address('changelist')}?{request.GET.urlencode()}")  # type: ignore[attr-defined]
        listed = self.get_changelist_instance(request)  # type: ignore[attr-defined]
        if listed.unknown():  # the list says it
            return back
        state = request.GET.get("status", "").strip()
        if state and state not in self.dead_letter_states:
            told = {"states": in_words(self.dead_letter_states), "state": state}
            messages.warning(request, _("Dead letters are %(states)s; the list shows rows that are %(state)s.") % told)
            return back
        return csv_response("dead-letters", self.dead_letter_lines(listed.get_queryset(request)))

    def dead_letter_lines(self, rows: Any) -> Iterator[str]:
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
