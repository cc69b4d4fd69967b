"""Which sites cannot be archived yet: those with rows that a queue has still to finish."""

from collections.abc import Callable, Collection
from uuid import UUID

OpenRows = Callable[[Collection[UUID]], set[UUID]]  # from sites to those of them that have rows to finish
_queues: list[OpenRows] = []


def register_open_rows(open_rows: OpenRows) -> None:
    """Let a queue say which sites cannot be archived yet; called from an app's `ready()`."""
    _queues.append(open_rows)


def sites_with_open_rows(ids: Collection[UUID]) -> set[UUID]:
    """Return those with rows that wait, are being sent or have no verdict yet, or with an import that goes on."""
    return {pk for open_rows in _queues for pk in open_rows(ids)}
