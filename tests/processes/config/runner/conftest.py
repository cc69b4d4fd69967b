"""Orders and folders for the runner."""

from tests.support.fixtures.cutting_jobs import customer, floor

__all__ = ["customer", "floor"]
