"""The filter of lists by a bulk action, and the filters that every list of jobs has."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kilit.batches.filters import (
    CREATED_BETWEEN,
    AgeFilter,
    ErrorGroupFilter,
    Filter,
    FilterSet,
    search_by_id,
    state_filter,
)
from kilit.batches.models import BulkItem
from kilit.lock.failures import Failures

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


TITLE = _("changed by bulk action")


@dataclass(frozen=True, kw_only=True)
class BulkFilter(Filter):
    """The rows that a bulk action changed, wherever they are now; set by the links of its page.

    The items' unique index finds its rows, in the order of the list.
    """

    name: str = "bulk"
    title: "StrOrPromise" = TITLE
    column: str = "id"
    most_counted: int | None = 2_500  # each row is looked up by its id, in four blocks

    def accepts(self, value: str, user: User | AnonymousUser) -> bool:
        with suppress(ValueError):
            return bool(UUID(value))
        return False

    def condition(self, value: str, *, as_of: datetime | None = None) -> Q:
        changed = BulkItem.objects.filter(action=UUID(value), result=BulkItem.Result.CHANGED)
        return Q(pk__in=changed.values("object_id"))

    def describe(self, value: str, user: User | AnonymousUser) -> str:
        return f"…{value[-12:]}"


def queue_filters(
    failures: Failures,
    *own: Filter,
    search: Callable[[Any, str], object] = search_by_id,
    scopes_seen_by: Callable[[Any], list[str] | None] = lambda _user: None,
) -> FilterSet:
    """Return a queue's own filters between those of every queue, which need its indexes by state and error group."""
    queue = failures.table.queue
    groups = ErrorGroupFilter(failures=failures, scopes_seen_by=scopes_seen_by, index=f"{queue}_of_error_group")
    state = state_filter(failures.table, index=f"{queue}_in_status", leads=True)
    return FilterSet((state, *own, AgeFilter(), *CREATED_BETWEEN, groups, BulkFilter()), search=search)
