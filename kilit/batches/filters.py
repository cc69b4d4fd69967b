"""Filters as data: declared beside each queue's queryset, read by console lists, the operator API and bulk workers.

A filter names its parameter, its column and the index that serves it. None of them needs a request: `accepts` checks a
value before it is used, `condition` is the WHERE clause, `describe` is what people read.
"""

from abc import ABC
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Model, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from kilit.lock.failures import Failures
from kilit.lock.identity import CLOCKS_DIFFER_BY, first_at
from kilit.lock.models import ErrorGroup
from kilit.lock.table import Lifecycle

SEARCH = "q"
OLDEST_YEAR = 1980  # ids count from 1970, and zones reach a day further back
NEWEST_YEAR = 9998  # the end of a day is the next one's midnight, and Python's time ends with 9999

DAY, HOUR = "%Y-%m-%d", "%Y-%m-%dT%H:%M"
AGE, ERROR_GROUP = _("age"), _("error group")

Choices = Sequence[tuple[str, Any]]


class UnusableFilters(Exception):
    """Filters that no bulk action may use; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Filter(ABC):
    name: str  # of the parameter
    title: StrOrPromise
    column: str
    index: str = ""  # serves it alone; without one, another filter or the primary key bounds the rows
    leads: bool = False  # the index begins with the column and ends with the id, so a list is ordered by both
    where: Q = field(default_factory=Q)  # in addition, always
    most_counted: int | None = None  # if each row costs more than with the others
    unless_set: Q = field(default_factory=Q)  # of a list, while nobody chose a value

    def accepts(self, value: str, user: User | AnonymousUser) -> bool:
        return True

    def condition(self, value: str, *, as_of: datetime | None = None) -> Q:
        """Return the WHERE clause for a value that was accepted.

        A leading column is compared as a range: with an equality the planner would drop it from the order, and with it
        the reason to use the index that begins with it.
        """
        if not self.leads:
            return Q(**{self.column: value}) & self.where
        return Q(**{f"{self.column}__gte": value, f"{self.column}__lte": value}) & self.where

    def describe(self, value: str, user: User | AnonymousUser) -> str:
        return value


@dataclass(frozen=True, kw_only=True)
class ChoiceFilter(Filter):
    """One of some values that are known beforehand, perhaps only to this user."""

    choices: Choices | Callable[[Any], Choices]

    def choices_for(self, user: User | AnonymousUser) -> Choices:
        return self.choices(user) if callable(self.choices) else self.choices

    def accepts(self, value: str, user: User | AnonymousUser) -> bool:
        return value in {str(choice) for choice, _label in self.choices_for(user)}

    def describe(self, value: str, user: User | AnonymousUser) -> str:
        labels = {str(choice): str(label) for choice, label in self.choices_for(user)}
        return labels.get(value, value)


@dataclass(frozen=True, kw_only=True)
class KindFilter(ChoiceFilter):
    """One of some kinds of rows, each with a label and a condition."""

    column: str = ""
    choices: Choices = ()
    kinds: Mapping[str, tuple[StrOrPromise, Q]]

    def choices_for(self, user: User | AnonymousUser) -> Choices:
        return [(name, label) for name, (label, _condition) in self.kinds.items()]

    def condition(self, value: str, *, as_of: datetime | None = None) -> Q:
        return self.kinds[value][1]


@dataclass(frozen=True, kw_only=True)
class TextFilter(Filter):
    """A whole value, typed in: listing those there are would read the whole table."""

    placeholder: StrOrPromise = ""


@dataclass(frozen=True, kw_only=True)
class AgeFilter(ChoiceFilter):
    """Created within the last hours, or before; found by the id, which sorts by time."""

    name: str = "since"
    title: StrOrPromise = AGE
    column: str = "created_at"
    choices: Choices = (
        ("1", _("Last hour")),
        ("24", _("Last 24 hours")),
        ("168", _("Last 7 days")),
        ("720", _("Last 30 days")),
        ("over-1", _("Older than 1 hour")),
        ("over-24", _("Older than 24 hours")),
        ("over-168", _("Older than 7 days")),
    )

    def condition(self, value: str, *, as_of: datetime | None = None) -> Q:
        age = timedelta(hours=int(value.removeprefix("over-")))
        created = (as_of or timezone.now()) - age
        cutoff = (as_of or Now()) - age
        if value.startswith("over-"):
            return Q(pk__lt=first_at(created + CLOCKS_DIFFER_BY), created_at__lt=cutoff)
        return Q(pk__gte=first_at(created - CLOCKS_DIFFER_BY), created_at__gte=cutoff)


@dataclass(frozen=True, kw_only=True)
class DayFilter(Filter):
    """Created from a day or an hour on, or up to its end, in the current time zone."""

    column: str = "created_at"
    is_last: bool = False
    by_id: bool = True  # ids carry the time; without that, an index begins with the column

    def accepts(self, value: str, user: User | AnonymousUser) -> bool:
        return _beginning(value) is not None

    def condition(self, value: str, *, as_of: datetime | None = None) -> Q:
        begins = _beginning(value)
        if begins is None:
            return Q(pk__in=[])
        if self.is_last:
            end = begins + (timedelta(hours=1) if "T" in value else timedelta(days=1))
            return Q(created_at__lt=end) & (Q(pk__lt=first_at(end + CLOCKS_DIFFER_BY)) if self.by_id else Q())
        return Q(created_at__gte=begins) & (Q(pk__gte=first_at(begins - CLOCKS_DIFFER_BY)) if self.by_id else Q())

    def describe(self, value: str, user: User | AnonymousUser) -> str:
        return value.replace("T", " ")


@dataclass(frozen=True, kw_only=True)
class ErrorGroupFilter(Filter):
    """Rows that are in an error group now: they failed that way and were not moved on."""

    name: str = "group"
    title: StrOrPromise = ERROR_GROUP
    column: str = "error_group"
    leads: bool = True
    failures: Failures
    scopes_seen_by: Callable[[Any], list[str] | None] = lambda _user: None

    def condition(self, value: str, *, as_of: datetime | None = None) -> Q:
        return super().condition(value) & self.failures.condition

    def describe(self, value: str, user: User | AnonymousUser) -> str:
        queue, scopes = self.failures.table.queue, self.scopes_seen_by(user)
        groups = ErrorGroup.objects.largest(queue=queue, scopes=scopes, group=value, limit=1)
        return groups[0].code if groups else value


CREATED_BETWEEN = (
    DayFilter(name="from", title=_("From")),
    DayFilter(name="to", title=_("To, that day included"), is_last=True),
)


def state_filter(table: Lifecycle, *, index: str = "", leads: bool = False) -> ChoiceFilter:
    choices = list(table.labels.items())
    return ChoiceFilter(name="status", title=_("state"), column="status", index=index, leads=leads, choices=choices)


def search_by_id(rows: Any, text: str) -> object:
    with suppress(ValueError):
        return rows.filter(pk=UUID(text))
    return rows.none()


@dataclass(frozen=True)
class FilterSet:
    """The filters of one list, and its search: an id, or the beginning of a name (`kilit.batches.search`)."""

    filters: tuple[Filter, ...] = ()
    search: Callable[[Any, str], object] = search_by_id

    def __iter__(self) -> Iterator[Filter]:
        return iter(self.filters)

    def __getitem__(self, name: str) -> Filter:
        return next(item for item in self.filters if item.name == name)

    @property
    def names(self) -> list[str]:
        return [item.name for item in self.filters]

    def given(self, values: Mapping[str, object]) -> dict[str, str]:
        """Return the values that set a filter; blanks do not."""
        return {each.name: text for each in self.filters if (text := str(values.get(each.name) or "").strip())}

    def accepted(
        self, values: Mapping[str, object], user: User | AnonymousUser, *, among: Collection[str]
    ) -> dict[str, str]:
        """Return those of the named filters that are set to a value they accept."""
        given = self.given(values)
        return {name: value for name, value in given.items() if name in among and self[name].accepts(value, user)}

    def rejected(self, values: Mapping[str, str], user: User | AnonymousUser) -> list[str]:
        message = gettext("The filter “%(name)s” has no value “%(value)s”, so nothing matches.")
        return [
            message % {"name": name, "value": value}
            for name, value in self.given(values).items()
            if not self[name].accepts(value, user)
        ]

    def validate(self, values: Mapping[str, object], user: User | AnonymousUser) -> dict[str, str]:
        """Return the values in one order; refuse an empty mapping, unknown names, and values that match nothing."""
        given = {name: text for name in sorted(values) if (text := str(values[name]).strip())}
        if not given:
            raise UnusableFilters(gettext("Set a filter first. Actions do not run over the whole list."))
        if unknown := [name for name in given if name not in (SEARCH, *self.names)]:
            raise UnusableFilters(gettext("“%(name)s” is not a filter of this list.") % {"name": unknown[0]})
        if rejected := self.rejected(given, user):
            raise UnusableFilters(rejected[0])
        return given

    def apply(self, rows: Any, values: Mapping[str, str], *, as_of: datetime | None = None) -> Any:
        """Return the rows that match accepted values; ages count from `as_of`, or from now."""
        for name, value in self.given(values).items():
            rows = rows.filter(self[name].condition(value, as_of=as_of))
        text = values.get(SEARCH, "").strip()
        return self.search(rows, bare_id(rows.model, text)) if text else rows

    def ordering(self, values: Mapping[str, str], user: Any = None) -> list[str]:
        """Return the leading column of a filter that is set: the same order as by id alone, along its index.

        The planner takes a filter's rows to be spread evenly, and would walk the table from its newest row: past half
        a million rows that succeeded, if it was long ago that half a million failed. The primary key cannot give this
        order, so it takes the index that begins with the filter's column.
        """
        given = self.given(values)
        return [
            f"-{each.column}"
            for each in self.filters
            if each.leads and each.name in given and each.accepts(given[each.name], user)
        ][:1]

    def describe(self, values: Mapping[str, str], user: User | AnonymousUser) -> str:
        parts = [
            (gettext("search"), value) if name == SEARCH else (self[name].title, self[name].describe(value, user))
            for name, value in values.items()
        ]
        return " · ".join(f"{title}: {value}" for title, value in parts)


def bare_id(model: type[Model], text: str) -> str:
    """Return the id out of a row's name as pages show it (`job 0199…`), in any case; other text unchanged."""
    sample = UUID(int=0)
    prefix = str(model(pk=sample)).removesuffix(str(sample))
    with suppress(ValueError):
        return str(UUID(text[len(prefix) :].strip())) if text.lower().startswith(prefix.lower()) else text
    return text


def _beginning(text: str) -> datetime | None:
    """Return when a day (2026-11-16) or an hour (2026-11-16T14:00) begins."""
    with suppress(ValueError, OverflowError):
        begins = timezone.make_aware(datetime.strptime(text, HOUR if "T" in text else DAY))  # noqa: DTZ007 - made aware
        return begins if OLDEST_YEAR <= begins.year <= NEWEST_YEAR else None
    return None
