"""Search by the beginning of a name, in any case, over millions of rows.

Each column that people search by has an index (`kilit.lock.prefixes`). A list looks at the first rows of each index
and no further, however many begin with the text; a bulk action matches them all.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, Value

from kilit.lock.prefixes import begins_with

MOST_PER_COLUMN = 500

Condition = Callable[[str], Q | None]  # None: the text cannot be the beginning of a value


def by(expression: object) -> Condition:
    return lambda text: begins_with(expression, text)


@dataclass(frozen=True)
class Found:
    """Ids of the first rows that a search found, and whether there are more."""

    ids: list[UUID]
    is_capped: bool = False


@dataclass(frozen=True)
class PrefixSearch:
    """Finds rows by their id, or by the beginning of some columns."""

    columns: tuple[Condition, ...]
    # Filters whose column comes first in the indexes: they limit the search, not only what it found.
    scope: tuple[str, ...] = ()

    def __call__(self, rows: Any, text: str) -> object:
        with suppress(ValueError):
            return rows.filter(pk=UUID(text))
        matches = Q(pk__in=[])
        for condition in self._conditions(text):
            matches |= condition
        return rows.filter(matches)

    def first(self, rows: Any, text: str, *, most: int = MOST_PER_COLUMN) -> Found:
        with suppress(ValueError):
            return Found([UUID(text)])
        rows = self._of_named_tenants(rows)
        parts = [
            rows.order_by().filter(condition).annotate(part=Value(number)).values_list("pk", "part")[: most + 1]
            for number, condition in enumerate(self._conditions(text))
        ]
        if not parts:
            return Found([])
        pairs = list(parts[0].union(*parts[1:], all=True))
        sizes = [sum(part == number for _pk, part in pairs) for number in range(len(parts))]
        return Found(list({pk: None for pk, _part in pairs}), is_capped=any(size > most for size in sizes))

    def _of_named_tenants(self, rows: Any) -> object:
        """Name every tenant, as the indexes begin with them: before PostgreSQL 18, all of an index would be read."""
        for name in self.scope:
            tenants = rows.model._meta.get_field(name).related_model._default_manager.values_list("pk", flat=True)
            rows = rows.filter(**{f"{name}__in": list(tenants)})
        return rows

    def _conditions(self, text: str) -> list[Q]:
        return [condition for column in self.columns if (condition := column(text)) is not None]
