"""Orders, customers, folders and people for the tests of panel cutting; full or locked disks, and old files."""

from tests.support.fixtures.cutting_jobs import api, at_rest_at_once, customer, floor, make_api, rules_file
from tests.support.fixtures.floor import full_disk, look, mounted, put

__all__ = [
    "api",
    "at_rest_at_once",
    "customer",
    "floor",
    "full_disk",
    "look",
    "make_api",
    "mounted",
    "put",
    "rules_file",
]
