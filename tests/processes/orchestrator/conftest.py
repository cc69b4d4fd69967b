"""Folders, orders, rules and people of panel cutting."""

from tests.support.fixtures.cutting_jobs import api, at_rest_at_once, customer, floor, make_api, rules_file

__all__ = ["api", "at_rest_at_once", "customer", "floor", "make_api", "rules_file"]
