"""A file store, a floor and rules for each test, and three actors."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.fixtures.cutting_jobs import floor, rules_file
from tests.support.fixtures.pdf_jobs import _own_store
from tests.support.interleaving import Stage

__all__ = ["_own_store", "floor", "rules_file"]


@pytest.fixture(scope="module")
def stage(django_db_setup: None, django_db_blocker: Any) -> Iterator[Stage]:
    with django_db_blocker.unblock(), Stage(3) as stage:
        yield stage
