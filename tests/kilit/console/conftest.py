"""People and rows of all three queues for the tests of what the console shows of them together."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from tests.support.fixtures.people import client_of, load, showcase, stranger
from tests.support.waiting import wait_until

__all__ = ["client_of", "showcase", "stranger"]


@pytest.fixture(scope="module")
def demo(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    """Load the demo once for a file of tests; every test takes back what it did to it."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield load(tmp_path_factory.mktemp("demo"))
        transaction.set_rollback(True)


@pytest.fixture
def within_the_hour(sql, db: None) -> None:
    """Do not start in the last minute of an hour: rows of the test would belong to the hour before."""
    ends = "SELECT clock_timestamp() > date_trunc('hour', clock_timestamp()) + interval '59 minutes'"
    wait_until(lambda: sql(ends) == [(False,)])
