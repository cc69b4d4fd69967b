"""Export of the failed rows that a list's filters match, as a CSV file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.admin import ModelAdmin

from kilit.console.formatting import button
from kilit.console.lists.actions import join_states
from kilit.csv.writer import CHUNK, csv_lines, csv_response

NO_MASKS: Mapping[str, Callable[[str], str]] = {}


class FailedExportMixin(ModelAdmin):
    # Each column of the file, with the attribute or function of a row that fills it.
    export_fields: Mapping[str, str | Callable[[Any], Any]] = {}
    export_states: Sequence[str] = ("FAILED",)
    # Columns with personal data, and how they are masked for viewers; operators need them to correct rows.
    export_masks: Mapping[str, Callable[[str], str]] = NO_MASKS

    # Ends of the addresses of buttons above the list that act on what its filters match.
    pages_with_filters: Sequence[str] = ("/dead-letters/",)

    @button(
        description=gettext_lazy("Export failed (CSV)"), icon="download", permissions=["view"], url_path="dead-letters"
    )
    def dead_letters(self, request: HttpRequest) -> HttpResponseBase:
        """Stream the failed rows; a server-side cursor keeps memory the same for any number."""
        back = HttpResponseRedirect(f"{self.address('changelist')}?{request.GET.urlencode()}")
        listed = self.get_changelist_instance(request)
        if listed.rejected_filters():  # the list shows the message
            return back
        state = request.GET.get("status", "").strip()
        if state and state not in self.export_states:
            values = {"states": join_states(self.export_states), "state": state}
            messages.warning(request, _("The export has %(states)s rows; the list shows %(state)s rows.") % values)
            return back
        masks = NO_MASKS if self.has_operate_permission(request) else self.export_masks
        return csv_response("dead-letters", self.export_lines(listed.get_queryset(request), masks=masks))

    def export_lines(self, rows: Any, *, masks: Mapping[str, Callable[[str], str]] = NO_MASKS) -> Iterator[str]:
        failed = rows.filter(status__in=self.export_states).order_by("pk")
        readers: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
            (field if callable(field) else attrgetter(field), masks.get(name, _as_it_is))
            for name, field in self.export_fields.items()
        ]
        rows = ([mask(read(row)) for read, mask in readers] for row in failed.iterator(chunk_size=CHUNK))
        return csv_lines(tuple(self.export_fields), rows)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Keep the list's filters in the links to files."""
        response: Any = super().changelist_view(request, extra_context)
        for offered in getattr(response, "context_data", {}).get("actions_list", []):
            if offered["path"].endswith(tuple(self.pages_with_filters)) and request.GET:
                offered["path"] += f"?{request.GET.urlencode()}"
        return response


def _as_it_is(value: Any) -> Any:
    return value
