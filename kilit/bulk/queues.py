"""The queues whose rows are acted on in bulk; each registers itself in its `registrations.py`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser, User

from kilit.bulk.filters import FilterSet
from kilit.bulk.operations import Operation
from kilit.lock.table import Lifecycle


@dataclass(frozen=True)
class BulkQueue:
    table: Lifecycle
    model: Any
    filters: FilterSet
    operations: tuple[Operation, ...]

    def may_act(self, user: User | AnonymousUser) -> bool:
        """Return whether a user may act at all; which rows are in reach is another question."""
        opts = self.model._meta
        return user.is_staff and user.has_perm(f"{opts.app_label}.operate_{opts.model_name}")

    def may_pause(self, user: User | AnonymousUser) -> bool:
        """Return whether a user may stop and resume the whole queue."""
        return self.may_act(user)

    def scopes_seen_by(self, user: User | AnonymousUser) -> list[str] | None:
        """Return the scopes whose rows a user sees; None means all."""
        return None

    def visible_to(self, user: User | AnonymousUser) -> Any:
        return self.model.objects.all()

    def matching(self, user: User | AnonymousUser, filters: Mapping[str, str], *, as_of: datetime | None = None) -> Any:
        """Return the rows that a list with these filters shows a user, as of a moment."""
        return self.filters.apply(self.visible_to(user), filters, as_of=as_of)

    def operation(self, name: str) -> Operation:
        (found,) = (operation for operation in self.operations if operation.name == name)
        return found


queues: dict[str, BulkQueue] = {}


def register_queue(queue: BulkQueue) -> None:
    queues[queue.table.queue] = queue
