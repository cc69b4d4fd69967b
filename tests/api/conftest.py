"""A service with a key."""

from tests.support.fixtures.cutting_jobs import api, make_api

__all__ = ["api", "make_api"]
