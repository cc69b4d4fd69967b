"""The conversion queue, as a Django app."""

from django.apps import AppConfig


class OciQueueConfig(AppConfig):
    """Registers the queue's sweeps."""

    name = "ociqueue"
    verbose_name = "Offline conversions"

    def ready(self) -> None:
        """Register once all models are known."""
        from ociqueue import sweeps  # noqa: PLC0415

        sweeps.register()
