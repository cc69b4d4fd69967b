"""Parcels, as a Django app with a bell and a sweep."""

from datetime import timedelta

from django.apps import AppConfig

from tests.support.waiting import PATIENCE


class ParcelsConfig(AppConfig):
    """Registers the tests' queue as the real ones do."""

    name = "tests.parcels"
    label = "parcels"

    def ready(self) -> None:
        """Register once all models are known."""
        from kilit.workers.doorbells import register_doorbell  # noqa: PLC0415
        from kilit.workers.sweeps import register_sweep  # noqa: PLC0415
        from pdfjobs.rendering import chromium, renderer  # noqa: PLC0415
        from tests.parcels import services  # noqa: PLC0415

        register_doorbell("parcels", is_due=services.parcels_due, answer=services.carry_parcels)
        # On a machine that is busy with other tests, ten seconds are not enough for a browser to start, nor to end.
        chromium.LAUNCH_LIMIT = renderer.LAUNCH_LIMIT = renderer.CLOSE_LIMIT = PATIENCE / 3
        register_sweep("recover_parcels", every=timedelta(minutes=1), run=services.recover_parcels)
