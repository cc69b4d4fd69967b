"""Orders, customers, folders and people for the tests of panel cutting."""

from tests.support.fixtures.cutting_jobs import api, at_rest_at_once, customer, floor, make_api, make_person

__all__ = ["api", "at_rest_at_once", "customer", "floor", "make_api", "make_person"]
