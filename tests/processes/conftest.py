"""Real workers on the test database."""

from collections.abc import Iterator

import pytest

from kilit.audit.run import audit
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


@pytest.fixture
def audited(transactional_db: None) -> Iterator[None]:
    """End a test with an audit of all that has happened in it."""
    yield
    assert audit(full=True).breaches == []
