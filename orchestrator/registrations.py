"""Bulk actions, problems, sweeps, metrics and webhooks of cutting jobs, and their doorbell where the saw is."""

from datetime import timedelta

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from kilit.api.webhooks import register_webhook_kinds
from kilit.batches.queues import register_queue
from kilit.problems.queues import register_queue_problems
from kilit.workers.doorbells import register_doorbell
from kilit.workers.metrics import register_oldest, registry
from kilit.workers.sweeps import register_sweep
from orchestrator import metrics, problems, webhooks
from orchestrator.models import Job, OrderDraft
from orchestrator.orders import enqueue
from orchestrator.saw.saw_handover import release_lapsed
from orchestrator.workflow import operations, runner

register_queue(operations.QUEUE)
register_queue_problems(operations.QUEUE, *problems.SOURCES)
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
