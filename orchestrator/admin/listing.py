"""How the list of jobs is narrowed: bounded filters, whole words, a capped count."""

from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold.views import ChangeList

from orchestrator.faults import Code
from orchestrator.fields import Wrong, phone
from orchestrator.models.queryset import JobQuerySet
from orchestrator.states import Mode, State

MOST_COUNTED = 10_000


class CappedPaginator(Paginator[Any]):
    """Counts no further than anybody pages."""

    template_name = "admin/ociqueue/capped_pagination.html"

    @cached_property
    def count(self) -> int:
        """Return how many there are, or one more than the most that is counted."""
        rows: Any = self.object_list
        return int(rows.order_by()[: MOST_COUNTED + 1].count())

    def spoken_count(self) -> str:
        """Return how many there are, or that there are more than were counted."""
        if self.count > MOST_COUNTED:
            return f"more than {MOST_COUNTED:,} jobs; narrow the filter to see the older ones"
        return f"{self.count:,} job{'' if self.count == 1 else 's'}"


class CappedChangeList(ChangeList):
    """Leaves the total to the pagination, which knows where counting stopped."""

    def get_results(self, request: HttpRequest) -> None:
        """Keep the page's head from showing a number beside the title."""
        super().get_results(request)
        self.full_result_count = self.result_count


class ChoiceFilter(admin.SimpleListFilter):
    """A filter by a column whose values are known beforehand; others are ignored."""

    column: str
    offered: list[tuple[str, Any]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer all values."""
        return self.offered

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Narrow the rows when a known value is asked for."""
        value = self.value()
        return queryset.filter(**{self.column: value}) if value in dict(self.offered) else queryset


class StateFilter(ChoiceFilter):
    """By state."""

    title, parameter_name, column = "state", "status", "status"
    offered = [(state, state) for state in State.values]


class CodeFilter(ChoiceFilter):
    """By what went wrong."""

    title, parameter_name, column = "error", "code", "error_code"
    offered = [(code.value, code.label) for code in Code]


class ModeFilter(ChoiceFilter):
    """By how OptiPlanning is started."""

    title, parameter_name, column = "mode", "mode", "opti_mode"
    offered = list(Mode.choices)


class SinceFilter(admin.SimpleListFilter):
    """By when a job came in."""

    title, parameter_name = "date", "since"
    offered = {"1": "Last hour", "24": "Last 24 hours", "168": "Last 7 days", "720": "Last 30 days"}

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer spans in hours."""
        return list(self.offered.items())

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Keep the newest."""
        value = self.value()
        if value not in self.offered:
            return queryset
        return queryset.filter(created_at__gte=Now() - timedelta(hours=int(value)))


FILTERS = [StateFilter, CodeFilter, ModeFilter, SinceFilter]


def search(jobs: JobQuerySet, text: str) -> JobQuerySet:
    """Return jobs by id, order id or the customer's phone in any spelling."""
    text = text.strip()
    with suppress(ValueError):
        return jobs.filter(pk=UUID(text))
    by_phone = Q()
    with suppress(Wrong):
        by_phone = Q(customer_phone=phone(text))
    return jobs.filter(Q(order_id=text) | by_phone)
