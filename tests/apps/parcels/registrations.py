"""Registers the tests' queue as the real ones do."""

from datetime import timedelta

from kilit.workers.doorbells import Doorbell, register_doorbells
from kilit.workers.sweeps import Sweep, register_sweeps
from tests.apps.parcels import services
from tests.support.fast_migrations import skip_needless_rendering

skip_needless_rendering()  # here, where every process with the tests' settings comes by
register_doorbells(Doorbell("parcels", due=services.parcels_due, handler=services.carry_parcels))
lapsed = services.lapsed_parcels
register_sweeps(Sweep("recover_parcels", every=timedelta(minutes=1), run=services.recover_parcels, due=lapsed))
