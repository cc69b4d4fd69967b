"""The queues whose rows are acted on in bulk; each registers itself in its `registrations.py`."""

from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser, User

from kilit.batches.filters import FilterSet
from kilit.batches.operations import Operation
from kilit.lock.table import Lifecycle

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True)
class Queue:
    table: Lifecycle
    model: Any
    filters: FilterSet
    operations: tuple[Operation, ...]
    _: KW_ONLY
    title: "StrOrPromise"
    well: Collection[str] = ()  # final states of success, of a queue whose rate of failures is watched
    badly: Collection[str] = ()
    # What share of failures is a problem, and among how many jobs that ended: among fewer, a few failures are no rate.
    alarming_share: float = 0.2
    fewest_ended: int = 50
    paused_title: "StrOrPromise" = ""  # with a place for the %(person)s, of a queue that can be paused

    def may_see(self, user: User | AnonymousUser) -> bool:
        opts = self.model._meta
        return user.has_perm(f"{opts.app_label}.view_{opts.model_name}")

    def may_act(self, user: User | AnonymousUser) -> bool:
        """Return whether a user may act at all; which rows are in reach is another question."""
        opts = self.model._meta
        return user.is_staff and user.has_perm(f"{opts.app_label}.operate_{opts.model_name}")

    def may_pause(self, user: User | AnonymousUser) -> bool:
        return self.may_act(user)

    def scopes_seen_by(self, user: User | AnonymousUser) -> list[str] | None:
        """Return the scopes whose rows a user sees; None means all."""
        return None

    def visible_to(self, user: User | AnonymousUser) -> Any:
        return self.model.objects.all()

    def matching(self, user: User | AnonymousUser, filters: Mapping[str, str], *, as_of: datetime | None = None) -> Any:
        return self.filters.apply(self.visible_to(user), filters, as_of=as_of)

    def operation(self, name: str) -> Operation:
        (match,) = (operation for operation in self.operations if operation.name == name)
        return match


queues: dict[str, Queue] = {}


def register_queue(queue: Queue) -> None:
    queues[queue.table.queue] = queue
