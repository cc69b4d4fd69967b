"""Priorities of waiting jobs: a badge where one is not normal, and a menu on the job's page."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from kilit.console.formatting import badge
from kilit.console.lists.acting import back_to_row
from kilit.lock.priorities import Priority, change_priority

COLOURS = {Priority.LOW: "", Priority.HIGH: "warning", Priority.URGENT: "danger"}


def priority_badge(row: Any) -> SafeString | str:
    """Return the priority of a job as a badge; a normal one is not worth a word."""
    priority = Priority(row.priority)
    return "" if priority == Priority.NORMAL else badge(str(priority.label), COLOURS[priority], title=_("Priority"))


def with_priority(state: SafeString, row: object) -> SafeString:
    return format_html("{} {}", state, text) if (text := priority_badge(row)) else state


def priority_context(model_admin: ModelAdmin, request: HttpRequest, row: Any) -> dict[str, object]:
    is_waiting = row.status in model_admin.page.priority_states
    may_change = is_waiting and model_admin.has_operate_permission(request, str(row.pk))
    return {
        "priority": Priority(row.priority),
        "priority_badge": priority_badge(row),
        "priorities": sorted(Priority, reverse=True) if may_change else [],
        "priority_href": model_admin.address("priority", row.pk),
    }


def change_row_priority(model_admin: ModelAdmin, request: HttpRequest, row: Any) -> HttpResponse:
    if request.method == "POST":  # logging in again leads here without the form
        chosen = Priority.__members__.get(request.POST.get("priority", "").upper())
        if chosen is None:
            messages.error(request, _("Choose a priority."))
        elif change_priority(row, chosen, waiting=model_admin.page.priority_states):
            messages.success(request, _("The priority is now %(priority)s.") % {"priority": chosen.label})
        else:
            messages.warning(request, _("Nothing was changed: the job has this priority, or it no longer waits."))
    return back_to_row(model_admin, request, row)
