"""The filter of lists by a bulk action: the rows that it changed, wherever they are now."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from kilit.batches.filters import Filter
from kilit.batches.models import BulkItem

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


TITLE = _("changed by bulk action")


@dataclass(frozen=True, kw_only=True)
class BulkFilter(Filter):
    """Set by the links of a bulk action's page. The items' unique index finds its rows, in the order of the list."""

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
