"""The orchestrator, as a Django app."""

from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _


class OrchestratorConfig(AppConfig):
    """Registers the queue's sweep, and its bell where the floor's folders are."""

    name = "orchestrator"
    verbose_name = _("Panel cutting")

    def ready(self) -> None:
        from kilit.bulk.queues import register_queue  # noqa: PLC0415
        from kilit.workers import doorbells  # noqa: PLC0415
        from orchestrator.orders import enqueue  # noqa: PLC0415
        from orchestrator.workflow import operations, runner, sweeps  # noqa: PLC0415

        register_queue(operations.QUEUE)
        sweeps.register()
        if settings.FLOOR_IS_HERE:
            doorbells.register(enqueue.BELL, is_due=runner.is_due, answer=runner.answer)
