"""What a provider says: one outcome per row, whatever happened to the request."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from ociqueue.states import Category

if TYPE_CHECKING:
    from ociqueue.models import Conversion


class Disposition(StrEnum):
    """What becomes of a row."""

    ACCEPTED = "ACCEPTED"  # the provider has it
    FATAL = "FATAL"  # fails now
    RETRY = "RETRY"  # tried again after a backoff, or when the provider says
    DEFER = "DEFER"  # too early: tried again hours later
    DUPLICATE = "DUPLICATE"  # the provider has it already: success only after an answer that was lost
    SPLIT = "SPLIT"  # the request was too large: sent again in halves
    GATE = "GATE"  # a fault of the account: the row goes back unharmed and the site's circuit opens
    GATE_ACTION = "GATE_ACTION"  # the same, for one conversion name only
    GATE_ALL = "GATE_ALL"  # the same, for every site
    UNSENT = "UNSENT"  # left out of the request: the row goes back unharmed


# The worst first: what a row with several errors comes to. DUPLICATE is last, so it counts only when alone.
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
BROKEN_OFF = "UPLOADER_ERROR"  # the code when no answer came because a library of ours failed
GATES = (Disposition.GATE, Disposition.GATE_ACTION, Disposition.GATE_ALL)


@dataclass(frozen=True)
class Outcome:
    """What the provider made of one row."""

    disposition: Disposition
    code: str = ""
    category: Category | None = None
    message: str = ""
    retry_after: timedelta | None = None
    ambiguous: bool = False  # the provider may have taken the row all the same
    request_id: str = ""
    whole_request: bool = False  # the fault was the request's, not the row's
    everywhere: bool = False  # a limit of the project's, which several sites may share


class CredentialsRefused(Exception):  # noqa: N818 - an answer of the provider's, not an error of ours
    """The provider does not let us in, or cannot be asked; nothing was sent."""

    def __init__(self, code: str, message: str, *, passing: bool) -> None:
        super().__init__(message)
        self.code, self.passing = code, passing


class Provider(Protocol):
    """An ad platform, for one account."""

    def refresh(self) -> None:
        """Log in, so that a revoked login is known before rows are claimed; raise CredentialsRefused."""

    def upload(self, batch: Sequence["Conversion"], *, dry_run: bool) -> list[Outcome]:
        """Send rows and return one outcome for each, in their order; never raise for what the provider answered."""

    def alike(self, row: "Conversion") -> set[tuple[Hashable, ...]]:
        """Return what the provider knows a row by: rows that share any of it may not meet in one request."""
