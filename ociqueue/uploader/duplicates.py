"""Twins: rows that the provider would take for one another, of which it would take none in one request."""

from collections.abc import Hashable, Sequence

from ociqueue.models import Conversion
from ociqueue.states import Category
from ociqueue.uploader.results import Disposition, Outcome, Provider

TWIN = Outcome(Disposition.UNSENT, code="TWIN_IN_BATCH", category=Category.TRANSIENT, message="Its twin is sent first.")


def apart(provider: Provider, rows: Sequence[Conversion]) -> tuple[list[Conversion], list[Conversion]]:
    """Return the rows that may be sent together, and those that are left out because their twin is among these."""
    seen: set[tuple[Hashable, ...]] = set()
    together: list[Conversion] = []
    twins: list[Conversion] = []
    for row in rows:
        names = provider.alike(row)
        (together if seen.isdisjoint(names) else twins).append(row)
        seen |= names
    return together, twins
