"""What a provider answers: one result per row, whatever happened to the request."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from ociqueue.models import Conversion
from ociqueue.states import Category


class Disposition(StrEnum):
    ACCEPTED = "ACCEPTED"  # the provider has it
    FATAL = "FATAL"  # fails now
    RETRY = "RETRY"  # retried after a backoff, or after the provider's delay
    DEFER = "DEFER"  # too early: retried hours later
    DUPLICATE = "DUPLICATE"  # the provider has it already: success only if an earlier answer was lost
    SPLIT = "SPLIT"  # the request was too large: sent again in halves
    GATE = "GATE"  # a fault of the account: the row keeps its attempt and the site's circuit opens
    GATE_ACTION = "GATE_ACTION"  # the same, for one conversion name only
    GATE_ALL = "GATE_ALL"  # the same, for every site
    UNSENT = "UNSENT"  # not part of the request: the row keeps its attempt


# For a row with several errors, the first of these decides. DUPLICATE is last, so it counts only when alone.
WORST_FIRST = (
    Disposition.FATAL,
    Disposition.GATE_ALL,
    Disposition.GATE,
    Disposition.GATE_ACTION,
    Disposition.SPLIT,
    Disposition.DEFER,
    Disposition.RETRY,
    Disposition.DUPLICATE,
)
UPLOADER_ERROR = "UPLOADER_ERROR"  # the code when a library of ours failed, so that no answer came
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


class CredentialsRejected(Exception):  # noqa: N818 - an answer of the provider, not an error of ours
    """The provider rejects the credentials, or its login cannot be reached; nothing was sent."""

    def __init__(self, code: str, message: str, *, is_temporary: bool) -> None:
        super().__init__(message)
        self.code, self.is_temporary = code, is_temporary


class Provider(Protocol):
    def refresh(self) -> None:
        """Log in, so that revoked credentials are known before rows are claimed; raise CredentialsRejected."""

    def upload(self, batch: Sequence[Conversion], *, dry_run: bool) -> list[RowResult]:
        """Send rows and return one result for each, in their order; never raise for an answer of the provider."""

    def identities(self, row: Conversion) -> set[tuple[Hashable, ...]]:
        """Return what the provider identifies a row by: rows that share one must not be in the same request."""
