"""Cutting jobs on the dashboard: above all those that wait for a person."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.console.panels import Concern, Item, Panel, register
from orchestrator.admin.badges import COLOURS
from orchestrator.errors import Code
from orchestrator.models import Job
from orchestrator.models.queryset import ORDER, JobQuerySet
from orchestrator.planning.rules import rules_error
from orchestrator.states import JOBS, JobState

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

SHOWN = 5
# A runner looks every second; one that is busy with OptiPlanning leaves quick steps to another thread.
UNATTENDED_AFTER = timedelta(minutes=5)


class CuttingPanel(Panel):
    title = gettext_lazy("Panel cutting")
    icon = "carpenter"
    table, model, colours = JOBS, Job, COLOURS
    well, badly = (JobState.DONE,), (JobState.FAILED,)
    oldest_means = gettext_lazy("Since the job that is due longest could have been taken up by a runner.")
    stuck_means = gettext_lazy(
        "Due for more than 5 minutes and taken up by no runner, or held by a runner that is gone."
    )
    note = gettext_lazy("A job that is retried may fail more than once.")

    def oldest(self, user: "User | AnonymousUser") -> Item | None:
        """Return what a runner takes up next."""
        job = self._jobs().due().order_by(*ORDER).first()
        return Item(job.order_id, self.row_address(job.pk), since=job.next_run_at) if job else None

    def stuck(self, user: "User | AnonymousUser") -> JobQuerySet:
        """Return what no runner looks after; each half by an index of its own."""
        unattended = Job.objects.due().filter(next_run_at__lt=Now() - UNATTENDED_AFTER)
        both = unattended.values("pk").union(Job.objects.lapsed().values("pk"), all=True)
        return self._jobs().filter(pk__in=both).order_by("next_run_at")

    def item(self, row: Job) -> Item:
        """Name the order, and since when it waits."""
        return Item(row.order_id, self.row_address(row.pk), row.status, row.next_run_at)

    def concerns(self, user: "User | AnonymousUser", totals: Mapping[str, int]) -> Iterator[Concern]:
        """Return the jobs on HOLD, longest first."""
        held = self._jobs().filter(status=JobState.HOLD).order_by("id")[:SHOWN]
        items = [
            Item(job.order_id, self.row_address(job.pk), _(Code(job.error_code).label), job.updated_at) for job in held
        ]
        hint = _("Each says on its page what to put right; then approve it.")
        everything = self.list_address(status=JobState.HOLD)
        yield Concern(_("On HOLD, waiting for a person"), hint, items, "warning", totals[JobState.HOLD], everything)
        if wrong := rules_error():
            hint = _("Whoever has read good rules works by those; a process that is started now lets all jobs wait.")
            where = reverse("admin:orchestrator_job_preflight")
            yield Concern(_("Rules with a mistake"), hint, [Item(wrong, where)], "danger", href=where)

    @staticmethod
    def _jobs() -> JobQuerySet:
        return Job.objects.defer("payload")


register(CuttingPanel())
