"""What an error of a provider means for a row; each provider has a table of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from ociqueue.states import Category
from ociqueue.uploader.results import WORST_FIRST, Disposition


@dataclass(frozen=True)
class Meaning:
    """What happens to a row with this error, and a hint for the operator who has to fix it."""

    disposition: Disposition
    category: Category
    hint: str = ""
    if_all: Disposition | None = None  # what it means when every row of an answer has it
    retry_after: timedelta | None = None  # when to try again, if not after the usual wait


def worst(meanings: Iterable[Meaning]) -> Meaning:
    """Return the meaning that decides for a row with several errors: a duplicate only if all of them are."""
    return min(meanings, key=lambda found: WORST_FIRST.index(found.disposition))
