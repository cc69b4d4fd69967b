"""What stands over a list: a tab for each state, the filters that are set as chips, and the ones to choose from."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.admin.views.main import ORDER_VAR
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.batches.filters import SEARCH, ChoiceFilter, DayFilter, Filter, FilterSet
from kilit.console.formatting import number, with_code
from kilit.console.models import SavedView
from kilit.lock.models import Count, ErrorGroup

STATE, CODE, GROUP, BULK, PAGE = "status", "code", "group", "bulk", "p"
FROM_PAGES = (STATE, GROUP, BULK, "import")  # filters that links of other pages set
LONG = 15  # choices
FEW_FILTERS = 2  # a list with so few needs no saved views
MOST_CODES = 5  # offered beside the filters; the panel has them all


@dataclass(frozen=True)
class Chip:
    """A tab, or a filter that is set or offered."""

    label: str
    href: str
    count: str = ""
    is_current: bool = False
    hint: str = ""  # a state's code


class RowAction(NamedTuple):
    """An action of Django's admin, as a list offers it."""

    name: str
    title: str
    is_dangerous: bool


class FilterField(NamedTuple):
    name: str
    title: str
    value: str
    kind: str  # select, date or text
    choices: Sequence[tuple[str, str]] = ()

    @property
    def is_long(self) -> bool:
        """Too long to look through: the choice is typed."""
        return len(self.choices) > LONG


class ListControls:
    """The controls of one request's list. Counts come from the roll-ups, so they cost the same at any size."""

    scope = ""  # the filter by what counts are kept for
    tabs_title: Any = gettext_lazy("States")

    def __init__(self, changelist: Any) -> None:
        self.changelist = changelist
        self.filters: FilterSet = changelist.model_admin.filters
        self.given = self.filters.given(changelist.params)
        self.search = changelist.query.strip()

    @property
    def is_narrowed(self) -> bool:
        return bool(self.given or self.search)

    def chips(self) -> list[Chip]:
        chosen = [Chip(self._describe(name, value), self._without(name)) for name, value in self.given.items()]
        if self.search:
            chosen.append(Chip(f"{_('search')}: {self.search}", self._without(SEARCH)))
        return chosen

    def _describe(self, name: str, value: str) -> str:
        return self.filters.describe({name: value}, self.changelist.user)

    @property
    def keeps_views(self) -> bool:
        return len(self.filters.names) > FEW_FILTERS

    def saved_views(self) -> Sequence[SavedView]:
        if not self.keeps_views:
            return []
        return list(SavedView.objects.filter(user=self.changelist.user.pk, listed=self.changelist.opts.label_lower))

    def fields(self) -> list[FilterField]:
        """Return the filters to choose from: not those that tabs and links set."""
        fields = [self._field(item) for item in self.filters if item.name not in FROM_PAGES]
        return [field for field in fields if field.choices or field.kind != "select" or field.name == CODE]

    def kept(self) -> dict[str, str]:
        """Return what the form of search and filters does not ask for."""
        params = self.changelist.params
        return {name: str(params[name]) for name in (*FROM_PAGES, ORDER_VAR) if params.get(name)}

    def actions(self) -> list[Any]:
        """Return those for rows that are ticked."""
        offered = self.changelist.model_admin.get_actions(self.changelist.request)
        return [
            function if hasattr(function, "title") else RowAction(name, str(label), name == "delete_selected")
            for function, name, label in offered.values()
        ]

    def tabs(self) -> list[Chip]:
        """Return a tab for each state; their rows are not counted."""
        states = next((item for item in self.filters if item.name == STATE), None)
        if not isinstance(states, ChoiceFilter):
            return []
        current = self.given.get(STATE, "")
        tabs = [Chip(_("In use") if states.unless_set else _("All"), self._without(STATE), is_current=not current)]
        for value, label in states.choices_for(self.changelist.user):
            tabs.append(Chip(str(label), self.href(**{STATE: str(value)}), is_current=str(value) == current))
        return tabs

    def code_offers(self) -> list[Chip]:
        return []

    def empty_text(self) -> str:
        if not self.is_narrowed:
            return _("There is nothing here yet.")
        values = self.given | ({SEARCH: self.search} if self.search else {})
        filters = self.filters.describe(values, self.changelist.user)
        return _("No %(rows)s with %(filters)s.") % {
            "rows": self.changelist.opts.verbose_name_plural,
            "filters": filters,
        }

    def _field(self, item: Filter) -> FilterField:
        value = self.given.get(item.name, "")
        match item:
            case DayFilter():
                return FilterField(item.name, str(item.title), value, "date")
            case ChoiceFilter():
                user = self.changelist.user
                choices = [(str(choice), str(label)) for choice, label in item.choices_for(user)]
                if value not in ("", *dict(choices)) and item.accepts(value, user):  # not offered, but given by a link
                    choices.append((value, item.describe(value, user)))
                return FilterField(item.name, str(item.title), value, "select", choices)
        return FilterField(item.name, str(item.title), value, "text")

    def href(self, **values: str) -> str:
        return str(self.changelist.get_query_string(values, [PAGE]))

    def _without(self, *names: str) -> str:
        return str(self.changelist.get_query_string(remove=[*names, PAGE])) or "?"


class QueueControls(ListControls):
    """Adds what a queue's roll-ups know: rows by state, and failures by code."""

    def __init__(self, changelist: Any) -> None:
        super().__init__(changelist)
        model_admin, user = changelist.model_admin, changelist.user
        self.scope = model_admin.scope_filter
        self.queue, self.failing = model_admin.queue.table.queue, model_admin.failures.states
        self.words = model_admin.queue.words
        here = self.filters.accepted(self.given, user, among=[self.scope])
        self.scopes = list(here.values()) or model_admin.queue.scopes_seen_by(user)

    def tabs(self) -> list[Chip]:
        """Return a tab for each state that has rows; with a filter that no count knows, without numbers."""
        # Scopes of other queues are not places: all of them are added up.
        counts = Count.objects.by_state(queue=self.queue, scopes=self.scopes)
        is_exact = not self.search and set(self.given) <= {STATE, self.scope}
        current = self.given.get(STATE, "")
        tabs = [Chip(_("All"), self._without(STATE), number(counts.total()) if is_exact else "", not current)]
        for state, label in self.changelist.model_admin.states.labels.items():
            if counts[state] or state == current:
                count = number(counts[state]) if is_exact else ""
                tabs.append(Chip(str(label), self.href(**{STATE: state}), count, state == current, state))
        return tabs

    def code_offers(self) -> list[Chip]:
        state = self.given.get(STATE)
        if CODE in self.given or GROUP in self.given or (state and state not in self.failing):
            return []
        most = self.codes.most_common(MOST_CODES)
        return [
            Chip(with_code(self.words(code), code), self.href(**{CODE: code}), number(count)) for code, count in most
        ]

    def _describe(self, name: str, value: str) -> str:
        if name not in (CODE, GROUP):
            return super()._describe(name, value)
        code = self.filters[name].describe(value, self.changelist.user) if name == GROUP else value
        return format_html("{}: {}", self.filters[name].title, with_code(self.words(code), code))

    @cached_property
    def codes(self) -> Counter[str]:
        """How many rows fail with each code now, of the state that is shown."""
        state = self.given.get(STATE, "")
        failing_state = state if state in self.failing else ""
        return ErrorGroup.objects.codes(queue=self.queue, state=failing_state, scopes=self.scopes)

    def _field(self, item: Filter) -> FilterField:
        if item.name != CODE:
            return super()._field(item)
        value = self.given.get(CODE, "")
        occurring = [code for code, _count in self.codes.most_common()]
        codes = occurring if value in ("", *occurring) else [value, *occurring]
        kind = "select" if isinstance(item, ChoiceFilter) else "text"
        names = {code: " · ".join(filter(None, (self.words(code), code))) for code in codes}
        choices = [(code, f"{name} ({number(self.codes[code])})") for code, name in names.items()]
        return FilterField(CODE, str(item.title), value, kind, choices)
