from datetime import timedelta

from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _


class OrchestratorConfig(AppConfig):
    name = "orchestrator"
    verbose_name = _("Panel cutting")

    def ready(self) -> None:
        from kilit.api.webhooks import register_webhook_kinds  # noqa: PLC0415
        from kilit.bulk.queues import register_queue  # noqa: PLC0415
        from kilit.workers.doorbells import register_doorbell  # noqa: PLC0415
        from kilit.workers.metrics import register_oldest, registry  # noqa: PLC0415
        from kilit.workers.sweeps import register_sweep  # noqa: PLC0415
        from orchestrator import metrics, webhooks  # noqa: PLC0415
        from orchestrator.models import Job, OrderDraft  # noqa: PLC0415
        from orchestrator.orders import enqueue  # noqa: PLC0415
        from orchestrator.saw.saw_handover import release_lapsed  # noqa: PLC0415
        from orchestrator.workflow import operations, runner  # noqa: PLC0415

        register_queue(operations.QUEUE)
        registry.register(metrics.CuttingCollector())
        register_oldest(operations.QUEUE.table.queue, metrics.oldest_due)
        register_webhook_kinds(*webhooks.KINDS)
        register_sweep(
            "orchestrator_release_lapsed",
            every=timedelta(seconds=30),
            run=lambda: f"Released {release_lapsed()}.",
            about=_("Releases cutting jobs of dead runners."),
            due=lambda: [Job.objects.lapsed()],
        )
        register_sweep(
            "orchestrator_forget_drafts",
            every=timedelta(days=1),
            run=lambda: f"Deleted {OrderDraft.objects.forget_old()}.",
            about=_("Deletes drafts of orders that were not sent or changed for 90 days."),
        )
        if settings.FLOOR_IS_HERE:
            register_doorbell(enqueue.BELL, due=runner.due_rows, handler=runner.handle_bell)
