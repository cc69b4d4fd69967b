"""Real workers on the test database."""

from collections.abc import Iterator

import pytest

from tests.support.workers import Workers


@pytest.fixture
def workers(transactional_db: None) -> Iterator[Workers]:
    """Start workers for one test, and leave nothing running."""
    started = Workers()
    try:
        started.start()
        yield started
    finally:
        started.stop()
