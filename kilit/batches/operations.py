"""An operator's verb as a worker uses it: which rows it reaches, which it skips and why, and how it is done.

How an operation is presented to people (title, form, effect) is up to the console.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, NamedTuple
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import Case, CharField, Value, When
from django.utils.translation import gettext_noop

from kilit.lock.guard import LifecycleModel
from kilit.lock.table import Lifecycle
from kilit.workers import doorbells


class OperationUnavailable(Exception):
    """The operation cannot be done now, whatever the rows are; the message says why."""


class Skip(NamedTuple):
    """Why a row was not changed: its state, and a reason where the state alone would have allowed it."""

    state: str
    reason: str = ""


@dataclass(frozen=True)
class OperationResult:
    moved: set[UUID]
    skipped: dict[UUID, Skip]
    messages: dict[UUID, str] = field(default_factory=dict)  # whole sentences, where a verb gave any


@dataclass(frozen=True)
class Operation(ABC):
    table: ClassVar[Lifecycle]
    model: ClassVar[type[LifecycleModel]]
    scope: ClassVar[str] = ""  # the column that says to whom a row belongs
    out_of_reach: ClassVar[str] = gettext_noop("not found")  # the reason for rows that the user may not act on

    name: str  # in addresses and forms
    verb: str  # in the table
    _: KW_ONLY
    batch: int = 500  # rows that a bulk action takes in one transaction

    @property
    def sources(self) -> tuple[str, ...]:
        """The states in which it is offered: a row that is already where it would go is left alone."""
        move = self.table.moves[self.verb]
        return tuple(state for state in move.sources if state != move.target)

    def within_reach(self, rows: Any, user: User | AnonymousUser) -> Any:
        return rows

    def helps(self, code: str) -> bool:
        """Return whether it is of use for rows with an error code, or for rows of any code if it is empty."""
        return True

    def skipped(self) -> list[When]:
        """Return which rows the verb skips although their state would allow it, and why."""
        return []

    def with_skip_reason(self, rows: Any) -> Any:
        return rows.annotate(skip_reason=Case(*self.skipped(), default=Value(""), output_field=CharField()))

    @abstractmethod
    def apply(self, user: User | AnonymousUser, ids: Sequence[UUID], options: Mapping[str, object]) -> OperationResult:
        """Act on rows; the verb itself checks again which rows it applies to."""

    def skips(self, rows: object) -> dict[UUID, Skip]:
        reasons = self.with_skip_reason(rows).values_list("pk", "status", "skip_reason")
        return {pk: Skip(state, reason) for pk, state, reason in reasons}


class BatchOperation(Operation):
    """Moves all its rows with one statement."""

    @abstractmethod
    def move(self, rows: Any, options: Mapping[str, Any]) -> set[UUID]:
        """Move those rows that the verb applies to."""

    def apply(self, user: User | AnonymousUser, ids: Sequence[UUID], options: Mapping[str, object]) -> OperationResult:
        with transaction.atomic():
            rows = self.within_reach(self.model._default_manager.filter(pk__in=ids), user)
            moved = self.move(rows, options)
            return OperationResult(moved, self.skips(rows.exclude(pk__in=moved)))


class VerbOperation(BatchOperation):
    """Moves rows by the verb of their queryset, and wakes the queue's workers."""

    def move(self, rows: Any, options: Mapping[str, Any]) -> set[UUID]:
        moved: set[UUID] = getattr(rows.filter(status__in=self.sources), self.verb)()
        doorbells.ring(self.table.queue)
        return moved
