"""Cutting jobs conform to the lock."""

from tests.support.cutting_jobs import CUTTING_JOBS
from tests.support.lifecycle_conformance import LifecycleConformance


class TestJobs(LifecycleConformance):
    specimen = CUTTING_JOBS
