"""Disks that are full or locked, and old files, for the tests of the floor."""

from tests.support.fixtures.floor import full_disk, here, look, mounted, put

__all__ = ["full_disk", "here", "look", "mounted", "put"]
