"""Duplicates in a request: of two rows that the provider cannot tell apart, it would accept neither."""

from collections.abc import Hashable, Sequence

from ociqueue.models import Conversion
from ociqueue.states import Category
from ociqueue.uploader.results import Disposition, Provider, RowResult

DUPLICATE_IN_BATCH = RowResult(
    Disposition.UNSENT,
    code="TWIN_IN_BATCH",
    category=Category.TRANSIENT,
    message="A duplicate of this row is sent first.",
)


def split_duplicates(provider: Provider, rows: Sequence[Conversion]) -> tuple[list[Conversion], list[Conversion]]:
    seen: set[tuple[Hashable, ...]] = set()
    unique: list[Conversion] = []
    duplicates: list[Conversion] = []
    for row in rows:
        identities = provider.identities(row)
        (unique if seen.isdisjoint(identities) else duplicates).append(row)
        seen |= identities
    return unique, duplicates
