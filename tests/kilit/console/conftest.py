"""People and rows of all three queues for the tests of what the console shows of them together."""

import pytest

from tests.support.fixtures.people import client_of, demo, showcase, stranger
from tests.support.waiting import wait_until

__all__ = ["client_of", "demo", "showcase", "stranger"]


@pytest.fixture
def within_the_hour(sql, db: None) -> None:
    """Do not start in the last minute of an hour: rows of the test would belong to the hour before."""
    ends = "SELECT clock_timestamp() > date_trunc('hour', clock_timestamp()) + interval '59 minutes'"
    wait_until(lambda: sql(ends) == [(False,)])
