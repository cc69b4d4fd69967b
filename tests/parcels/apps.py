"""Parcels, as a Django app with a bell and a sweep."""

from datetime import timedelta

from django.apps import AppConfig


class ParcelsConfig(AppConfig):
    """Registers the tests' queue as the real ones do."""

    name = "tests.parcels"
    label = "parcels"

    def ready(self) -> None:
        """Register once all models are known."""
        from kilit.workers.doorbells import register_doorbell  # noqa: PLC0415
        from kilit.workers.sweeps import register_sweep  # noqa: PLC0415
        from tests.parcels import services  # noqa: PLC0415
        from tests.support.fast_migrations import skip_needless_rendering  # noqa: PLC0415

        skip_needless_rendering()  # here, where every process with the tests' settings comes by
        register_doorbell("parcels", due=services.parcels_due, handler=services.carry_parcels)
        lapsed = services.lapsed_parcels
        register_sweep("recover_parcels", every=timedelta(minutes=1), run=services.recover_parcels, due=lapsed)
