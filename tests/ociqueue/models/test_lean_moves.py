"""What a move writes: little, because it travels to each standby and into each archive."""

import pytest

from kilit.lock.models import Event
from ociqueue.models import Conversion
from tests.support.conversions import new_conversion

pytestmark = pytest.mark.django_db

PAGES = "SELECT id, split_part(trim('()' FROM ctid::text), ',', 1) FROM offline_conversion_queue"


def test_a_claim_writes_rows_into_their_own_pages(site, sql) -> None:
    """Then the log has only what changed of them."""
    Conversion.objects.bulk_create(new_conversion(site, source_key=f"order-{number}") for number in range(200))
    before = dict(sql(PAGES))

    Conversion.objects.claim(limit=200)

    moved = [row for row, page in sql(PAGES) if before[row] != page]
    assert len(set(before.values())) > 1
    assert len(moved) < 20


def test_an_event_has_no_error_that_is_empty(site) -> None:
    new_conversion(site).save()

    (row,) = Conversion.objects.claim(limit=1)

    assert Event.objects.of(row).latest("id").details == {"verb": "claim", "attempt_count": 1}
