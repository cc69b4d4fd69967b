"""The simulators, running, and what they work on."""

from tests.support.fixtures.cutting_jobs import at_rest_at_once, customer, floor
from tests.support.fixtures.datamanager import _data_manager, data_manager
from tests.support.fixtures.floor import here

__all__ = ["_data_manager", "at_rest_at_once", "customer", "data_manager", "floor", "here"]
