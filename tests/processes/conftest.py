"""Real workers on the test database."""

from tests.support.fixtures.workers import workers

__all__ = ["workers"]
