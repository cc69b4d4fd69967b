"""Cutting jobs on the dashboard."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from django.contrib.auth.models import AnonymousUser, User
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.panels import Concern, Panel, PanelItem
from orchestrator.admin.columns import COLOURS
from orchestrator.errors import Code
from orchestrator.models import Job
from orchestrator.models.queryset import ORDER, JobQuerySet
from orchestrator.planning.rules import rules_error
from orchestrator.states import JOBS, JobState

SHOWN = 5
# A runner looks every second, and its quick thread is never blocked by OptiPlanning.
UNATTENDED_AFTER = timedelta(minutes=5)


class CuttingPanel(Panel):
    title = gettext_lazy("Panel cutting")
    icon = "carpenter"
    table, model, colours = JOBS, Job, COLOURS
    well, badly = (JobState.DONE,), (JobState.FAILED,)
    oldest_means = gettext_lazy("How long the oldest due job has waited for a runner.")
    stuck_means = gettext_lazy("Due for more than 5 minutes without a runner, or held by a dead runner.")
    note = gettext_lazy("A retried job may fail more than once.")

    def oldest(self, user: User | AnonymousUser) -> PanelItem | None:
        job = self._jobs().due().order_by(*ORDER).first()
        return PanelItem(job.order_id, self.row_address(job.pk), since=job.next_run_at) if job else None

    def stuck(self, user: User | AnonymousUser) -> JobQuerySet:
        # Each half uses its own index.
        unattended = Job.objects.due().filter(next_run_at__lt=Now() - UNATTENDED_AFTER)
        both = unattended.values("pk").union(Job.objects.lapsed().values("pk"), all=True)
        return self._jobs().filter(pk__in=both).order_by("next_run_at")

    def item(self, row: Job) -> PanelItem:
        return PanelItem(row.order_id, self.row_address(row.pk), row.status, row.next_run_at)

    def concerns(self, user: User | AnonymousUser, totals: Mapping[str, int]) -> Iterator[Concern]:
        held = self._jobs().filter(status=JobState.HOLD).order_by("id")[:SHOWN]
        items = [
            PanelItem(job.order_id, self.row_address(job.pk), _(Code(job.error_code).label), job.updated_at)
            for job in held
        ]
        hint = _("Each job's page says what to fix. Then approve it.")
        everything = self.list_address(status=JobState.HOLD)
        yield Concern(_("Needs approval"), hint, items, "warning", totals[JobState.HOLD], everything)
        if error := rules_error():
            hint = _("Running processes use the last valid rules; a process started now cannot work any job.")
            where = reverse("admin:orchestrator_job_preflight")
            yield Concern(_("Invalid rules"), hint, [PanelItem(error, where)], "danger", href=where)

    @staticmethod
    def _jobs() -> JobQuerySet:
        return Job.objects.defer("payload")
