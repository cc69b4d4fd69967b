"""What Google identifies a row by, in both of its APIs, and rows that it could not tell apart."""

from collections.abc import Hashable, Sequence
from typing import TypeVar

from ociqueue.models import Conversion
from ociqueue.models.credentials import GoogleAdsAccount
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import Category
from ociqueue.uploader.results import Disposition, Identities, Provider, RowResult

Row = TypeVar("Row", bound=Uploadable)
DUPLICATE_IN_BATCH = RowResult(
    Disposition.UNSENT, "TWIN_IN_BATCH", Category.TRANSIENT, "A duplicate of this row is sent first."
)


def google_identities(account: GoogleAdsAccount, row: Conversion) -> Identities:
    """Return the order id, and the click with its action and time: Google rejects rows that share either.

    A row without a click id is known by its hashes instead.
    """
    return (
        ("order", row.order_id),
        (
            "click",
            row.click_id or (row.hashed_email, row.hashed_phone),
            account.action_of(row.action),
            row.conversion_time.timestamp() // 1,
        ),
    )


def split_duplicates(provider: Provider, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Of two rows that the provider cannot tell apart, it would accept neither: the second one waits."""
    seen: set[tuple[Hashable, ...]] = set()
    unique: list[Row] = []
    duplicates: list[Row] = []
    for row in rows:
        identities = provider.identities(row)
        (unique if seen.isdisjoint(identities) else duplicates).append(row)
        seen.update(identities)
    return unique, duplicates
