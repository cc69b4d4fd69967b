"""What an error of a provider means for a row; each provider has a table of them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

from ociqueue.models.uploadable import Uploadable
from ociqueue.states import Category
from ociqueue.uploader.results import WORST_FIRST, Disposition, RowResult

# Google does not find the conversion of an adjustment: it may not have processed it yet, so it is looked for twice.
DEFERRED_ONCE = ("CONVERSION_NOT_FOUND", "ORIGINAL_CONVERSIONS_NOT_FOUND")
LOOKED_TWICE = "A day later Google still does not find it."


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


def after_defer(row: Uploadable, result: RowResult) -> RowResult:
    """Return a result that is fatal if the row was deferred for the same reason before, and is deferred only once."""
    if result.code not in DEFERRED_ONCE or result.disposition != Disposition.DEFER:
        return result
    if row.provider_error_code != result.code:  # as it was when the row was claimed, or deferred
        return result
    message = f"{LOOKED_TWICE} {result.message}"
    return replace(result, disposition=Disposition.FATAL, category=Category.VALIDATION, message=message)
