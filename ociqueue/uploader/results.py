"""What a provider replies: one result per row, whatever happened to the request."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any, Protocol, Self, TypeVar
from uuid import UUID

from ociqueue.states import Category, Disposition

Row = TypeVar("Row")
Identities = Collection[tuple[Hashable, ...]]
UPLOADER_ERROR = "UPLOADER_ERROR"  # the code when a library of ours failed, so that no reply came
GATES = (Disposition.GATE, Disposition.GATE_ACTION, Disposition.GATE_ALL)


@dataclass(frozen=True)
class RowResult:
    disposition: Disposition
    code: str = ""
    category: Category | None = None
    message: str = ""
    retry_after: timedelta | None = None
    ambiguous: bool = False  # the provider may have accepted the row all the same
    request_id: str = ""
    whole_request: bool = False  # the request failed, not the row
    everywhere: bool = False  # a limit of the project, which several sites may share
    job_id: int | None = None  # as the provider answered; None if no row of the request was processed
    warnings: tuple[str, ...] = ()  # the provider has the row, but ignored parts of it
    sent_as_zero: bool = False  # a retraction, through an API that has none

    @property
    def is_temporary(self) -> bool:
        return self.disposition == Disposition.RETRY and self.category == Category.TRANSIENT


Groups = list[tuple[RowResult, list[Any]]]


@dataclass
class RunTally:
    """What a run did: numbers, and notes for the operator."""

    put_off: int = 0
    late: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, other: Self) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def group_rows(rows: Sequence[Row], results: Sequence[RowResult]) -> list[tuple[RowResult, list[Row]]]:
    """Return each result with its rows, in their order: thousands of rows mostly share one object, and one group."""
    groups: dict[int, list[Row]] = defaultdict(list)
    for row, result in zip(rows, results, strict=True):
        groups[id(result)].append(row)
    distinct = {id(result): result for result in results}
    return [(distinct[key], same_rows) for key, same_rows in groups.items()]


def change_results(results: Sequence[RowResult], change: Callable[[RowResult], RowResult]) -> list[RowResult]:
    distinct = {id(result): result for result in results}
    changed = {key: change(result) for key, result in distinct.items()}
    return [changed[id(result)] for result in results]


def blame_rows(results: list[RowResult]) -> list[RowResult]:
    """Retry rows with a fault of the account, up to their cap, if it accepts other rows: then it is not at fault."""
    if all(result.disposition != Disposition.ACCEPTED for result in results):
        return results
    return [
        replace(result, disposition=Disposition.RETRY) if result.disposition == Disposition.GATE else result
        for result in results
    ]


def ids_of(rows: Sequence[Any]) -> list[UUID]:
    return [row.id for row in rows]


class CredentialsRejected(Exception):
    """The provider rejects the credentials, or its login cannot be reached; nothing was sent."""

    def __init__(self, code: str, message: str, *, is_temporary: bool) -> None:
        super().__init__(message)
        self.code, self.is_temporary = code, is_temporary


class VerdictStatus(StrEnum):
    PENDING = "PENDING"  # the provider is still processing the request
    SETTLED = "SETTLED"  # there is a result for each row
    UNPROVEN = "UNPROVEN"  # the request was processed, but its status does not say which rows failed
    LOST = "LOST"  # the provider does not know the request any more
    UNKNOWN = "UNKNOWN"  # the status could not be read


@dataclass(frozen=True)
class Verdict:
    status: VerdictStatus
    results: Sequence[RowResult] = ()  # for SETTLED: one for each row, in the order that was sent
    label: str = ""  # the provider's own name for it, such as PARTIAL_SUCCESS
    note: str = ""


class Provider(Protocol):
    """A way to send rows of one queue.

    One that replies at once returns no RECEIVED; one that replies later returns no ACCEPTED.
    """

    def refresh(self) -> None:
        """Log in, so that revoked credentials are known before rows are claimed; raise CredentialsRejected."""

    def can_send(self) -> bool:
        """Return whether a request fits into the provider's quota now; the run asks before it claims rows."""

    def upload(self, batch: Sequence[Any], *, dry_run: bool, job_id: int | None = None) -> list[RowResult]:
        """Send rows and return one result for each, in their order; never raise for a reply of the provider.

        `job_id` is our number for the upload; a provider without such numbers ignores it.

        Rows with the same `request_id` were in one request, in the order of `batch`.
        """

    def identities(self, row: Any) -> Identities:
        """Return what the provider identifies a row by: rows that share one must not be in the same request."""


class LaterProvider(Provider, Protocol):
    def can_ask(self) -> bool:
        """Return whether a question for a verdict fits into the provider's quota now, and count it."""

    def verdict(self, request_id: str, rows: Sequence[Any]) -> Verdict:
        """Ask what became of a request with these rows, in the order that was sent; never raise for a reply."""
