"""The filters of lists over millions of rows: each knows its values beforehand or has them typed, and says itself."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kilit.lock.models import ErrorGroup

# Ids carry the time they were made at; clocks of web nodes differ by less than this.
CLOCKS_DIFFER_BY = timedelta(hours=1)
# From when filters by age count: a bulk action keeps the moment at which it was asked for. None is now.
moment: ContextVar[datetime | None] = ContextVar("moment", default=None)
OLDEST_YEAR = 1980  # ids count from 1970, and zones reach a day further back
NEWEST_YEAR = 9998  # the end of a day is the next one's midnight, and Python's time ends with 9999


def exactly(column: str, value: Any) -> Q:
    """Return the question for one value as a range.

    Told that they are equal, the planner would drop the column from the order, and with it the reason to take the index
    that begins with it.
    """
    return Q(**{f"{column}__gte": value, f"{column}__lte": value})


class ChoiceFilter(admin.SimpleListFilter):
    """A filter whose values are known beforehand; of others there is no row."""

    column: str
    leads = False  # whether an index begins with the column and ends with the id
    offered: Sequence[tuple[str, Any]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return self.offered

    def value(self) -> str | None:
        """Return what is asked for; blanks ask for nothing."""
        return str(super().value() or "").strip() or None

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Narrow the rows when something is asked for; a value that was never offered leaves none."""
        if self.value() is None:
            return queryset
        return self.narrow(queryset, str(self.value())) if self.is_known else queryset.none()

    def narrow(self, rows: Any, value: str) -> Any:
        return rows.filter(exactly(self.column, value) if self.leads else Q(**{self.column: value}))

    def in_words(self, name: str) -> tuple[str, str]:
        """Return what is filtered by, and the value as it was offered."""
        labels = {str(value): str(label) for value, label in self.lookup_choices}
        return str(self.title), labels.get(str(self.value()), str(self.value()))

    def asked(self) -> list[str]:
        """Return by which names in the address something is asked for."""
        return [self.parameter_name] if self.value() is not None else []  # type: ignore[list-item]

    def knows(self, name: str) -> bool:
        """Tell whether what is asked for can be."""
        return self.is_known

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
        super().__init__(request, params, model, model_admin)
        for name in self.parameters:
            if name in params:
                told = params.pop(name)
                self.used_parameters[name] = (told if isinstance(told, str) else told[-1]).strip()

    def expected_parameters(self) -> list[str | None]:
        """Name the values, so that other filters keep them."""
        return list(self.parameters)

    def has_output(self) -> bool:
        return True

    def typed(self, name: str) -> str:
        """Return what was typed into a field."""
        return str(self.used_parameters.get(name, ""))

    def asked(self) -> list[str]:
        """Return by which names in the address something is asked for."""
        return [name for name in self.parameters if self.typed(name)]

    def knows(self, name: str) -> bool:
        """Tell whether what is asked for can be; of a word typed in only the rows can tell."""
        return True

    def in_words(self, name: str) -> tuple[str, str]:
        """Return what is filtered by, and what was typed."""
        return str(self.parameters[name]), self.typed(name)

    @property
    def leading(self) -> str:
        """The column that the list is ordered by first."""
        return self.column if self.asked() else ""

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
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
        """Keep the rows of those days; on what is no date there were none."""
        if not all(map(self.knows, self.asked())):
            return queryset.none()
        first, last = (self._midnight(name) for name in self.parameters)
        if first:
            queryset = queryset.filter(pk__gte=first_id_at(first - CLOCKS_DIFFER_BY), created_at__gte=first)
        if last:
            end = last + timedelta(days=1)
            queryset = queryset.filter(pk__lt=first_id_at(end + CLOCKS_DIFFER_BY), created_at__lt=end)
        return queryset

    def knows(self, name: str) -> bool:
        return self._midnight(name) is not None

    def _midnight(self, name: str) -> datetime | None:
        with suppress(ValueError, OverflowError):
            day = timezone.make_aware(datetime.strptime(self.typed(name), "%Y-%m-%d"))  # noqa: DTZ007 - made aware
            return day if OLDEST_YEAR <= day.year <= NEWEST_YEAR else None
        return None


class GroupFilter(TypedFilter):
    """By a group of failures that look alike; groups are chosen on their own page."""

    title = _("error group")
    template = "admin/console/group_filter.html"
    column = "error_group"
    parameters = {"group": _("Error group")}

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        """Keep the rows that are in the group now: those that failed so and were not moved on."""
        rows = super().queryset(request, queryset)
        return rows.filter(self._failures.condition) if self.typed("group") else rows

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self._failures = model_admin.failures
        self._seen = {"queue": model_admin.table.queue, "scopes": model_admin.scopes_seen_by(request.user)}

    def in_words(self, name: str) -> tuple[str, str]:
        """Return the group by its code and message; its own name is a number that says nothing."""
        found = ErrorGroup.objects.largest(**self._seen, group=self.typed(name), limit=1)
        return str(self.title), f"{found[0].code} {found[0].shape}" if found else self.typed(name)

    def has_output(self) -> bool:
        """Show only that a group was chosen."""
        return bool(self.typed("group"))


def parameters_of(offered: Any) -> list[str]:
    """Return what a filter is called in the address: one name, or one for each of its fields."""
    return list(getattr(offered, "parameters", None) or [offered.parameter_name])


def knows_no(name: str, value: str) -> str:
    """Say that a filter has no such value."""
    told = {"name": name, "value": value}
    return gettext("The filter “%(name)s” knows no “%(value)s”, so no row matches it.") % told


def first_id_at(time: datetime) -> UUID:
    """Return the smallest id that could have been made at a time."""
    return UUID(int=int(time.timestamp() * 1000) << 80)
