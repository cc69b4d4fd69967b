"""Cutting jobs on the dashboard."""

from django.contrib.auth.models import AnonymousUser, User
from django.utils.translation import gettext_lazy

from kilit.console.dashboard.panels import Panel, PanelItem
from orchestrator.models import Job
from orchestrator.models.job import ORDER
from orchestrator.queue import QUEUE


class CuttingPanel(Panel):
    icon = "carpenter"
    queue = QUEUE
    oldest_means = gettext_lazy("How long the oldest due job has waited for a runner.")
    note = gettext_lazy("A retried job may fail more than once.")

    def oldest(self, user: User | AnonymousUser) -> PanelItem | None:
        job = Job.objects.due().defer("payload").order_by(*ORDER).first()
        return PanelItem(job.order_id, self.row_address(job.pk), since=job.next_run_at) if job else None
