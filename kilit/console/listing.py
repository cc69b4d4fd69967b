"""How lists stay quick over millions of rows: exact searches, bounded filters, a capped count."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from kilit.console.filters import knows_no, parameters_of
from kilit.console.formatting import number

MOST_COUNTED = 10_000


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
            told = gettext("more than %(most)s %(names)s; narrow the filter to see the older ones")
            return told % {"most": number(self.most), "names": names}
        return gettext("%(number)s %(names)s") % {
            "number": number(self.count),
            "names": name if self.count == 1 else names,
        }

    def page(self, number: Any) -> Any:
        """Return a page; beyond the last it is the last, for rows leave a list while somebody pages through it."""
        return super().page(self.nearest(number))

    def nearest(self, number: int) -> int:
        """Return the number of the page that there is."""
        return max(1, min(number, self.num_pages))

    @property
    def _rows(self) -> Any:
        return self.object_list


class CappedChangeList(ChangeList):
    """Leaves the total to the pagination, which knows where counting stopped."""

    page_num: int
    paginator: CappedPaginator

    def get_results(self, request: HttpRequest) -> None:
        """Keep the page's head from showing a number beside the title."""
        super().get_results(request)
        self.full_result_count = self.result_count
        self.page_num = self.paginator.nearest(self.page_num)

    def narrowed_by(self) -> str:
        """Return the filters that are set, in the words of the page that acts on all that match."""
        told = [spec.in_words(name) for spec in self.filter_specs for name in spec.asked()]
        told += [(gettext("search"), self.query.strip())] if self.query.strip() else []
        return " · ".join(f"{name}: {value}" for name, value in told)

    def unknown(self) -> list[str]:
        """Say which values no filter knows: without a word an empty list would tell that nothing is wrong."""
        asked = [(spec, name) for spec in self.filter_specs for name in spec.asked()]
        return [knows_no(name, spec.in_words(name)[1]) for spec, name in asked if not spec.knows(name)]

    def get_ordering(self, request: HttpRequest, queryset: Any) -> list[str]:
        """Order by the column that a filter narrows to one value, then as always: the same order, along an index.

        The planner takes a filter's rows to be spread evenly, and would walk the table from its newest row: past half
        a million rows that went well, if it was long ago that half a million failed. The primary key cannot give this
        order, so it takes the index that begins with the filter's column (see `exactly`).
        """
        ordering: list[str] = super().get_ordering(request, queryset)
        leading = [spec.leading for spec in self.filter_specs if getattr(spec, "leading", "")]
        return [f"-{leading[0]}", *ordering] if leading else ordering


class ReadOnlyAdmin(ModelAdmin):
    """A list and a page to look at."""

    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class LongListAdmin(ReadOnlyAdmin):
    """Rows by the million, newest first: exact searches, bounded filters, a capped count."""

    list_per_page = 50
    list_max_show_all = 0
    list_fullwidth = True
    list_before_template = "admin/console/list_head.html"
    ordering = ["-id"]
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    search_fields = ["=id"]  # shows the box; `search` says what is found

    def scopes_seen_by(self, user: Any) -> list[str] | None:
        """Return whose rows a user sees; none means everybody's."""
        return None

    def address(self, name: str, *args: Any) -> str:
        """Return the way to one of the rows' own pages."""
        return reverse(f"admin:{self.named(name)}", args=args)

    def named(self, name: str) -> str:
        """Return a page's name among all of the console."""
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"

    def search(self, rows: Any, text: str) -> Any:
        """Return the row with this id, or what else a list knows its rows by: all of it, never a part.

        A part would read the whole table.
        """
        with suppress(ValueError):
            return rows.filter(pk=UUID(text))
        return rows.none()

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[CappedChangeList]:
        return CappedChangeList

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Find whole words only, and a row by what pages call it, as in `job 0199…`."""
        text = self._bare(search_term.strip())
        return (self.search(queryset, text) if text else queryset), False

    def _bare(self, text: str) -> str:
        """Return the id out of a row's name, however its letters are written; all else as it is."""
        anything = UUID(int=0)
        prefix = str(self.model(pk=anything)).removesuffix(str(anything))
        bare = text[len(prefix) :].strip()
        with suppress(ValueError):
            return str(UUID(bare)) if text.lower().startswith(prefix.lower()) else text
        return text

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Take the filters that are offered, and no others from the address."""
        return any(lookup in parameters_of(offered) for offered in self.list_filter)
