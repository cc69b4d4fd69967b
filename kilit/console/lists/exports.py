"""The failed rows of a list as a CSV file, in the reader's filters."""

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from kilit.csv.writer import CHUNK, csv_lines, csv_response

Masks = Mapping[str, Callable[[str], str]]


def failed_rows(model_admin: ModelAdmin, request: HttpRequest) -> HttpResponseBase:
    """Stream the failed rows; a server-side cursor keeps memory the same for any number."""
    back = HttpResponseRedirect(f"{model_admin.address('changelist')}?{request.GET.urlencode()}")
    listed = model_admin.get_changelist_instance(request)
    if listed.rejected_filters():  # the list shows the message
        return back
    state = request.GET.get("status", "").strip()
    if state and state not in model_admin.export_states:
        table = model_admin.queue.table
        values = {"states": table.words(model_admin.export_states), "state": table.labels[state]}
        text = _("The export has rows in these states: %(states)s. The list shows another: %(state)s.")
        messages.warning(request, text % values)
        return back
    masks = {} if model_admin.has_operate_permission(request) else model_admin.export_masks
    failed = listed.get_queryset(request).filter(status__in=model_admin.export_states)
    rows = model_admin.rows_to_export(failed).order_by("pk")
    return csv_response("dead-letters", _lines(model_admin.export_fields, rows, masks))


def _lines(fields: Mapping[str, str | Callable[[Any], Any]], rows: Any, masks: Masks) -> Iterator[str]:
    readers: list[tuple[Callable[[Any], object], Callable[[Any], object]]] = [
        (field if callable(field) else attrgetter(field), masks.get(name, lambda value: value))
        for name, field in fields.items()
    ]
    cells = ([mask(read(row)) for read, mask in readers] for row in rows.iterator(chunk_size=CHUNK))
    return csv_lines(tuple(fields), cells)
