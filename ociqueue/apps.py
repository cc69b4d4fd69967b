"""The conversion queue, as a Django app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OciQueueConfig(AppConfig):
    name = "ociqueue"
    verbose_name = _("Offline conversions")

    def ready(self) -> None:
        from kilit.bulk.queues import register_queue  # noqa: PLC0415
        from ociqueue import operations, sweeps  # noqa: PLC0415

        register_queue(operations.QUEUE)
        sweeps.register()
