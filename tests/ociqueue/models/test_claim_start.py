"""A claim that took long is followed by claims that begin where it ended; no row that is due is left out."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from ociqueue.models import Conversion, statements
from ociqueue.models.claim_start import BEGINNING, ClaimStarts
from ociqueue.models.statements import claim_values
from ociqueue.states import ConversionStatus
from tests.support.conversions import new_conversion

pytestmark = pytest.mark.django_db


class Clock:
    """Time that passes when the test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    """Let every claim from the beginning count as long."""
    clock = Clock()
    monkeypatch.setattr(statements, "LONG_CLAIMS", ClaimStarts(long=-1, clock=clock))
    return clock


@pytest.fixture
def rows(site) -> list[Conversion]:
    rows = Conversion.objects.bulk_create(new_conversion(site, source_key=str(number)) for number in range(6))
    for number, row in enumerate(rows):
        Conversion.objects.filter(pk=row.pk).update(created_at=Now() - timedelta(minutes=10 - number))
    return rows


def claim(site, limit: int) -> list[str]:
    return [row[0] for row in claim_values(site, "source_key", limit=limit)]


def wait_again(row: Conversion) -> None:
    Conversion.objects.filter(pk=row.pk).move("recover", claimed_at=None)


def test_the_next_claims_begin_where_a_long_one_ended(site, rows, clock: Clock) -> None:
    assert claim(site, 2) == ["0", "1"]
    wait_again(rows[0])

    assert claim(site, 2) == ["2", "3"]
    clock.now += ClaimStarts.kept_for
    assert claim(site, 2) == ["0", "4"]


def test_a_claim_that_finds_too_little_looks_from_the_beginning(site, rows, clock: Clock) -> None:
    claim(site, 4)
    wait_again(rows[0])
    wait_again(rows[1])
    wait_again(rows[2])

    assert claim(site, 4) == ["0", "1", "4", "5"]
    assert claim(site, 4) == ["2"]


def test_claims_that_are_quick_begin_at_the_beginning(site, rows) -> None:
    assert claim(site, 2) == ["0", "1"]
    wait_again(rows[0])

    assert claim(site, 2) == ["0", "2"]


def test_a_start_is_of_one_site_and_one_kind_of_claim() -> None:
    starts = ClaimStarts(long=-1)
    seen = []

    def take(most: int, since: object) -> list[tuple[object, ...]]:
        seen.append(since)
        return [("row", "12:00")] * most

    for key in ("site", "site", "other", "site"):
        starts.take(key, take, 3)

    assert seen == [BEGINNING, "12:00", BEGINNING, "12:00"]


def test_rows_are_claimed_once_whatever_the_start(site, rows, clock: Clock) -> None:
    claimed = [*claim(site, 4), *claim(site, 4), *claim(site, 4)]

    assert sorted(claimed) == [str(number) for number in range(6)]
    assert set(Conversion.objects.values_list("status", "attempt_count")) == {(ConversionStatus.PROCESSING, 1)}
