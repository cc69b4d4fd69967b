"""The lock, as a Django app."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class LifecycleConfig(AppConfig):
    """Loads the sweeps that the lock itself needs and listens to the workers."""

    name = "lifecycle"
    verbose_name = _("Operations")

    def ready(self) -> None:
        """Register once all models are known."""
        from lifecycle import roles  # noqa: PLC0415
        from lifecycle.bulk import running  # noqa: PLC0415
        from lifecycle.workers import listeners, sweeps  # noqa: PLC0415

        post_migrate.connect(roles.grant, dispatch_uid="lifecycle.roles")
        listeners.connect()
        sweeps.register_own()
        running.register()
