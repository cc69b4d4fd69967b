"""The orchestrator, as a Django app."""

from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _


class OrchestratorConfig(AppConfig):
    """Registers the queue's sweep, and its bell where the floor's folders are."""

    name = "orchestrator"
    verbose_name = _("Panel cutting")

    def ready(self) -> None:
        from kilit.workers import doorbells  # noqa: PLC0415
        from orchestrator.orders import enqueue  # noqa: PLC0415
        from orchestrator.workflow import runner, sweeps  # noqa: PLC0415

        sweeps.register()
        if settings.FLOOR_IS_HERE:
            doorbells.register(enqueue.BELL, is_due=runner.is_due, answer=runner.answer)
