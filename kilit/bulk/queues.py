"""What a queue tells bulk actions about itself: its verbs, its rows, and who may act on them.

The queues' admins register here, so that a worker finds rows by the very filters of the screen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID


class NotNow(Exception):  # noqa: N818 - an answer in words, not an error of ours
    """The action cannot be done at this moment, whatever the rows are; the words say why."""


@dataclass(frozen=True)
class Outcome:
    """What an action did: which rows it moved, what the others are, and why in whole sentences where there are any."""

    moved: set[UUID]
    left: dict[UUID, str]
    sentences: dict[UUID, str] = field(default_factory=dict)


class Verb(Protocol):
    """An operator's action, as a worker uses it."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The states it applies to."""

    @property
    def batch(self) -> int:
        """How many rows it takes at a time."""

    @property
    def scope(self) -> str:
        """The column that says to whom a row belongs, or nothing."""

    @property
    def beyond(self) -> str:
        """What a row is that is not in the user's reach, or not there at all."""

    def within_reach(self, rows: Any, user: Any) -> Any:
        """Keep the rows that a user may act on."""

    def judged(self, rows: Any) -> Any:
        """Annotate rows with a `verdict`: the state, and why the action leaves it alone where the state would not."""

    def apply(self, user: Any, ids: Sequence[UUID], options: Mapping[str, Any]) -> Outcome:
        """Act on rows; the verb itself asks again which it applies to."""


class BulkQueue(Protocol):
    """A queue whose rows are acted on in bulk."""

    model: Any

    @property
    def operations(self) -> Sequence[Any]:
        """The verbs of an operator."""

    def may_act(self, user: Any) -> bool:
        """Tell whether a user may act at all, as things are now."""

    def matching(self, user: Any, filters: Mapping[str, str], *, as_of: datetime | None = None) -> Any:
        """Return the rows that the list would show a user for these filters, at a moment."""

    def scopes_seen_by(self, user: Any) -> list[str] | None:
        """Return whose rows a user sees; none means everybody's."""


queues: dict[str, BulkQueue] = {}


def register(name: str, queue: BulkQueue) -> None:
    """Let a queue's rows be acted on in bulk; called when its admin is made."""
    queues[name] = queue


def verb_of(queue: str, action: str) -> Verb:
    """Return a queue's verb by its name."""
    (found,) = (verb for verb in queues[queue].operations if verb.name == action)
    return found  # type: ignore[no-any-return]
