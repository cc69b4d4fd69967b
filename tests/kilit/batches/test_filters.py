"""Filters with fields of their own under a bulk action: days, codes and error groups."""

from datetime import UTC, datetime

import pytest

from kilit.batches import run
from kilit.lock.identity import first_at
from ociqueue.models import Conversion
from tests.support.bulk_actions import LIST, asked, worked

pytestmark = pytest.mark.django_db


def test_an_error_group_is_retried_as_a_whole(operator, site, make_failed) -> None:
    make_failed(site, 3)
    make_failed(site, 2, code="OTHER")
    group = Conversion.objects.filter(provider_error_code="OTHER").values_list("error_group", flat=True)[0]

    action = worked(asked(operator, query=f"group={group}"))

    assert (action.total, action.moved_count) == (2, 2)
    assert not Conversion.objects.filter(provider_error_code="OTHER", status="FAILED").exists()


@pytest.mark.parametrize("day", ["9999-12-31", "9999-01-01", "0001-01-01", "1969-12-31"])
@pytest.mark.parametrize("name", ["from", "to"])
def test_no_day_is_too_late_or_too_early_to_ask_for(name, day, operator, site, make_failed) -> None:
    """The end of the last day there is has no time of its own."""
    make_failed(site, 1)
    query = f"{name}={day}"

    for door in (LIST, f"{LIST}dead-letters/", f"{LIST}all/retry/"):
        assert operator.get(f"{door}?{query}", follow=True).status_code == 200, door


@pytest.mark.parametrize("most", [10_000, 0], ids=["written down at once", "written down by a worker"])
def test_days_are_the_operators_wherever_rows_are_written_down(most, operator, site, make_failed, monkeypatch) -> None:
    monkeypatch.setattr(run, "MOST_LOOKED_AT", most)
    times = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (20, 22)]
    rows = [make_failed(site, 1, id=first_at(time), created_at=time)[0] for time in times]
    operator.cookies["kilit_zone"] = "Europe/Istanbul"

    action = worked(asked(operator, query="from=2026-03-02&to=2026-03-02"))

    assert action.total == 1
    assert action.items.get().object_id == rows[1].pk  # the second of March in Istanbul
