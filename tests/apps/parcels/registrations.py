"""Registers the tests' queue as the real ones do."""

from datetime import timedelta

from kilit.workers.doorbells import register_doorbell
from kilit.workers.sweeps import register_sweep
from tests.apps.parcels import services
from tests.support.fast_migrations import skip_needless_rendering

skip_needless_rendering()  # here, where every process with the tests' settings comes by
register_doorbell("parcels", due=services.parcels_due, handler=services.carry_parcels)
lapsed = services.lapsed_parcels
register_sweep("recover_parcels", every=timedelta(minutes=1), run=services.recover_parcels, due=lapsed)
