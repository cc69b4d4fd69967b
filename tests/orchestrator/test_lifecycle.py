"""Cutting jobs and what is in the store conform to the lock."""

from tests.support.cutting_jobs import CUTTING_JOBS
from tests.support.lifecycle_conformance import LifecycleConformance
from tests.support.stock import STOCK_ITEMS


class TestJobs(LifecycleConformance):
    specimen = CUTTING_JOBS


class TestStock(LifecycleConformance):
    specimen = STOCK_ITEMS
