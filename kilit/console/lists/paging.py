"""Paging through lists of any length."""

from typing import Any

from django.core.paginator import Paginator
from django.utils.functional import cached_property
from django.utils.translation import gettext

from kilit.console.formatting import counted

MOST_COUNTED = 10_000


class CappedPaginator(Paginator[Any]):
    """Counts no further than anyone pages."""

    most = MOST_COUNTED
    object_list: Any
    is_first_page = False

    @cached_property
    def count(self) -> int:
        """How many rows there are, or one more than the most that is counted."""
        if self.is_first_page and len(self.first_rows) <= self.per_page:
            return len(self.first_rows)
        # In the order of the list, so that the index that finds the page also ends the count.
        return int(self.object_list[: self.most + 1].count())

    @cached_property
    def first_rows(self) -> list[Any]:
        """The first page and one row more: mostly there is none, and nothing has to be counted."""
        return list(self.object_list[: self.per_page + 1])

    def count_text(self) -> str:
        if self.count > self.most:
            text = gettext("more than %(rows)s; narrow the filter to see older ones")
            return text % {"rows": self.counted(self.most)}
        return self.counted(self.count)

    def counted(self, rows: int) -> str:
        return counted(rows, self.object_list.model)

    def page(self, number: Any) -> Any:
        """Return a page; beyond the last it is the last, because rows leave a list while it is paged through."""
        return super().page(self.nearest(number))

    def nearest(self, number: int) -> int:
        return max(1, min(number, self.num_pages))
