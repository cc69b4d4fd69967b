"""Priorities of waiting jobs: a badge where one is not normal, and a menu on the job's page."""

from collections.abc import Collection
from typing import Any, ClassVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.formatting import badge
from kilit.console.jobs.job_page import JobPageAdmin
from kilit.lock.priorities import Priority, change_priority

# For the timelines and the activity, by the verb that is recorded.
PRIORITY_SENTENCES = {
    "priority_low": gettext_lazy("Priority set to low by %(who)s"),
    "priority_normal": gettext_lazy("Priority set to normal by %(who)s"),
    "priority_high": gettext_lazy("Priority set to high by %(who)s"),
    "priority_urgent": gettext_lazy("Priority set to urgent by %(who)s"),
}
COLOURS = {Priority.LOW: "", Priority.HIGH: "warning", Priority.URGENT: "danger"}


def priority_badge(row: Any) -> SafeString | str:
    """Return the priority of a job as a badge; a normal one is not worth a word."""
    priority = Priority(row.priority)
    return "" if priority == Priority.NORMAL else badge(str(priority.label), COLOURS[priority], title=_("Priority"))


def with_priority(state: SafeString, row: object) -> SafeString:
    return format_html("{} {}", state, text) if (text := priority_badge(row)) else state


class PriorityAdmin(JobPageAdmin):
    priority_states: ClassVar[Collection[str]]

    def reader_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        may_change = row.status in self.priority_states and self.has_operate_permission(request, str(row.pk))
        return {
            **super().reader_context(request, row),
            "priority": Priority(row.priority),
            "priority_badge": priority_badge(row),
            "priorities": sorted(Priority, reverse=True) if may_change else [],
            "priority_href": self.address("priority", row.pk),
        }

    def change_priority(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = self.row_to_change(request, object_id)
        if request.method == "POST":  # logging in again leads here without the form
            chosen = Priority.__members__.get(request.POST.get("priority", "").upper())
            if chosen is None:
                messages.error(request, _("Choose a priority."))
            elif change_priority(row, chosen, waiting=self.priority_states):
                messages.success(request, _("The priority is now %(priority)s.") % {"priority": chosen.label})
            else:
                messages.warning(request, _("Nothing was changed: the job has this priority, or it no longer waits."))
        return HttpResponseRedirect(self.back_address([row.pk], filters=request.POST.get("filters", ""), from_row=True))

    def get_urls(self) -> list[object]:
        view = self.admin_site.admin_view(self.change_priority)
        return [path("<path:object_id>/priority/", view, name=self.view_name("priority")), *super().get_urls()]
