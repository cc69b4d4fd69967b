"""Failed conversions by the hundred, and operators who act on them."""

from collections.abc import Callable, Iterator

import pytest

from ociqueue.models import Conversion, Site
from ociqueue.operations import RETRY
from tests.support.conversions import new_conversion
from tests.support.fixtures.conversions import make_conversion, make_person, make_site, site

__all__ = ["make_conversion", "make_person", "make_site", "site"]


@pytest.fixture
def make_failed() -> Callable[..., list[Conversion]]:
    """Make rows, claim them and fail them."""

    def make(site: Site, number: int, *, code: str = "INVALID_VALUE") -> list[Conversion]:
        made = Conversion.objects.bulk_create([new_conversion(site) for _ in range(number)])
        rows = Conversion.objects.filter(pk__any_of=[row.pk for row in made])
        rows.claim(limit=number)
        rows.ack_failed(code=code, category="VALIDATION", message="bad")
        return list(rows.order_by("pk"))

    return make


@pytest.fixture
def small_batches() -> Iterator[None]:
    """Let a few rows take several batches; actions are frozen, so past their guard."""
    usual = RETRY.batch
    object.__setattr__(RETRY, "batch", 2)
    yield
    object.__setattr__(RETRY, "batch", usual)
