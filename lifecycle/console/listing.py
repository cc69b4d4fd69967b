"""How lists stay quick over millions of rows: exact searches, bounded filters, a capped count."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

MOST_COUNTED = 10_000
# Ids carry the time they were made at; clocks of web nodes differ by less than this.
CLOCKS_DIFFER_BY = timedelta(hours=1)
# From when filters by age count: a bulk action keeps the moment at which it was asked for. None is now.
moment: ContextVar[datetime | None] = ContextVar("moment", default=None)
OLDEST_YEAR = 1980  # ids count from 1970, and zones reach a day further back


class CappedPaginator(Paginator[Any]):
    """Counts no further than anybody pages."""

    template_name = "admin/console/capped_pagination.html"
    most = MOST_COUNTED

    @cached_property
    def count(self) -> int:
        """Return how many there are, or one more than the most that is counted."""
        # In the order of the list, so that the index that finds the page also ends the count.
        return int(self._rows[: self.most + 1].count())

    def spoken_count(self) -> str:
        """Return how many there are, or that there are more than were counted."""
        words = self._rows.model._meta
        name, names = words.verbose_name, words.verbose_name_plural
        if self.count > self.most:
            return f"more than {self.most:,} {names}; narrow the filter to see the older ones"
        return f"{self.count:,} {name if self.count == 1 else names}"

    @property
    def _rows(self) -> Any:
        return self.object_list


class CappedChangeList(ChangeList):
    """Leaves the total to the pagination, which knows where counting stopped."""

    def get_results(self, request: HttpRequest) -> None:
        """Keep the page's head from showing a number beside the title."""
        super().get_results(request)
        self.full_result_count = self.result_count

    def get_ordering(self, request: HttpRequest, queryset: Any) -> list[str]:
        """Order by the column that a filter narrows to one value, then as always: the same order, along an index.

        The planner takes a filter's rows to be spread evenly, and would walk the table from its newest row: past half
        a million rows that went well, if it was long ago that half a million failed. The primary key cannot give this
        order, so it takes the index that begins with the filter's column (see `exactly`).
        """
        ordering: list[str] = super().get_ordering(request, queryset)
        leading = [spec.leading for spec in self.filter_specs if getattr(spec, "leading", "")]
        return [f"-{leading[0]}", *ordering] if leading else ordering


def exactly(column: str, value: Any) -> Q:
    """Return the question for one value as a range.

    Told that they are equal, the planner would drop the column from the order, and with it the reason to take the index
    that begins with it.
    """
    return Q(**{f"{column}__gte": value, f"{column}__lte": value})


class ChoiceFilter(admin.SimpleListFilter):
    """A filter whose values are known beforehand; others are ignored."""

    column: str
    leads = False  # whether an index begins with the column and ends with the id
    offered: Sequence[tuple[str, Any]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer all values."""
        return self.offered

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Narrow the rows when a known value is asked for."""
        return self.narrow(queryset, str(self.value())) if self.is_known else queryset

    def narrow(self, rows: Any, value: str) -> Any:
        """Return the rows with this value."""
        return rows.filter(exactly(self.column, value) if self.leads else Q(**{self.column: value}))

    @property
    def is_known(self) -> bool:
        """Whether a value is asked for that was offered."""
        return self.value() in {str(choice) for choice, _label in self.lookup_choices}

    @property
    def leading(self) -> str:
        """The column that the list is ordered by first."""
        return self.column if self.leads and self.is_known else ""


class StateFilter(ChoiceFilter):
    """By state, among those of the rows' own table."""

    title, parameter_name, column = _("state"), "status", "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        """Offer all states."""
        return [(state, state) for state in model_admin.table.states]


class LeadingStateFilter(StateFilter):
    """The same, for rows with an index of all their states."""

    leads = True


class AgeFilter(ChoiceFilter):
    """By how long ago a row was made, in hours: no longer than so many, or longer."""

    title, parameter_name = _("age"), "since"
    offered = [
        ("1", _("Last hour")),
        ("24", _("Last 24 hours")),
        ("168", _("Last 7 days")),
        ("720", _("Last 30 days")),
        ("over-1", _("Older than 1 hour")),
        ("over-24", _("Older than 24 hours")),
        ("over-168", _("Older than 7 days")),
    ]

    def narrow(self, rows: Any, value: str) -> Any:
        """Keep the newest or the oldest, found by their ids, which sort by time."""
        age = timedelta(hours=int(value.removeprefix("over-")))
        then = moment.get()
        made = (then or timezone.now()) - age
        if value.startswith("over-"):
            return rows.filter(pk__lt=first_id_at(made + CLOCKS_DIFFER_BY), created_at__lt=(then or Now()) - age)
        return rows.filter(pk__gte=first_id_at(made - CLOCKS_DIFFER_BY), created_at__gte=(then or Now()) - age)


class TypedFilter(admin.ListFilter):
    """A filter whose values are typed in: listing those there are would read the whole table."""

    template = "admin/console/typed_filter.html"
    parameters: ClassVar[dict[str, Any]]  # by the name in the address, the label of its field
    column = ""  # that an index begins with which ends with the id, if there is one
    input_type = "text"
    placeholder: Any = ""
    longest = 64

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        """Take the filter's own values from the address."""
        super().__init__(request, params, model, model_admin)
        for name in self.parameters:
            if name in params:
                told = params.pop(name)
                self.used_parameters[name] = (told if isinstance(told, str) else told[-1]).strip()

    def expected_parameters(self) -> list[str | None]:
        """Name the values, so that other filters keep them."""
        return list(self.parameters)

    def has_output(self) -> bool:
        """Show the fields always."""
        return True

    def typed(self, name: str) -> str:
        """Return what was typed into a field."""
        return str(self.used_parameters.get(name, ""))

    @property
    def leading(self) -> str:
        """The column that the list is ordered by first."""
        return self.column if any(map(self.typed, self.parameters)) else ""

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Keep the rows with the one value that was typed."""
        (name,) = self.parameters
        return queryset.filter(exactly(self.column, self.typed(name))) if self.typed(name) else queryset

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Give the template what is typed, and the other filters to keep."""
        kept = [(name, value) for name, value in changelist.params.items() if name not in (*self.parameters, "p")]
        fields = [(name, label, self.typed(name)) for name, label in self.parameters.items()]
        yield {"kept": kept, "fields": fields, "clear": changelist.get_query_string(remove=list(self.parameters))}


class DateFilter(TypedFilter):
    """By the day a row was made, in the reader's zone; either end may be left open."""

    title = _("date")
    parameters = {"from": _("From"), "to": _("To, that day included")}
    input_type = "date"

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Keep the rows of those days; what is no date is ignored."""
        first, last = (self._midnight(name) for name in self.parameters)
        if first:
            queryset = queryset.filter(pk__gte=first_id_at(first - CLOCKS_DIFFER_BY), created_at__gte=first)
        if last:
            end = last + timedelta(days=1)
            queryset = queryset.filter(pk__lt=first_id_at(end + CLOCKS_DIFFER_BY), created_at__lt=end)
        return queryset

    def _midnight(self, name: str) -> datetime | None:
        with suppress(ValueError, OverflowError):
            day = timezone.make_aware(datetime.strptime(self.typed(name), "%Y-%m-%d"))  # noqa: DTZ007 - made aware
            return day if day.year >= OLDEST_YEAR else None
        return None


class GroupFilter(TypedFilter):
    """By a group of failures that look alike; groups are chosen on their own page (CON-6)."""

    title = _("error group")
    template = "admin/console/group_filter.html"
    column = "error_group"
    parameters = {"group": _("Error group")}

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Keep the rows that are in the group now: those that failed so and were not moved on."""
        rows = super().queryset(request, queryset)
        return rows.filter(self._failures.condition) if self.typed("group") else rows

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        """Know the queue's failures."""
        super().__init__(request, params, model, model_admin)
        self._failures = model_admin.failures

    def has_output(self) -> bool:
        """Show only that a group was chosen."""
        return bool(self.typed("group"))


class ReadOnlyAdmin(ModelAdmin):
    """A list and a page to look at."""

    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds one by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes one by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes one by hand."""
        return False


class LongListAdmin(ReadOnlyAdmin):
    """Rows by the million, newest first: exact searches, bounded filters, a capped count."""

    list_per_page = 50
    list_max_show_all = 0
    list_fullwidth = True
    ordering = ["-id"]
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    search_fields = ["=id"]  # shows the box; `search` says what is found

    def search(self, rows: Any, text: str) -> Any:
        """Return the row with this id, or what else a list knows its rows by: all of it, never a part.

        A part would read the whole table.
        """
        with suppress(ValueError):
            return rows.filter(pk=UUID(text))
        return rows.none()

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[CappedChangeList]:
        """List without a total."""
        return CappedChangeList

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Find whole words only."""
        text = search_term.strip()
        return (self.search(queryset, text) if text else queryset), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Take the filters that are offered, and no others from the address."""
        return any(lookup in parameters_of(offered) for offered in self.list_filter)


def parameters_of(offered: Any) -> tuple[str, ...]:
    """Return the names that a filter has in the address."""
    return tuple(getattr(offered, "parameters", ())) or (offered.parameter_name,)


def first_id_at(time: datetime) -> UUID:
    """Return the smallest id that could have been made at a time."""
    return UUID(int=int(time.timestamp() * 1000) << 80)
