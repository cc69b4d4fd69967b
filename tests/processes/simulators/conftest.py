"""Folders for the simulator of OptiPlanning."""

from tests.support.fixtures.cutting_jobs import floor
from tests.support.fixtures.floor import here

__all__ = ["floor", "here"]
