"""Cutting jobs on the dashboard."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.utils.translation import gettext_lazy

from kilit.console.dashboard.panels import Panel, PanelItem
from kilit.problems.registry import ProblemSource
from orchestrator.admin.columns import COLOURS
from orchestrator.admin.limit_problems import ALARMING_SHARE
from orchestrator.admin.problems import sources_of
from orchestrator.metrics import FEWEST_COUNTED
from orchestrator.models import Job
from orchestrator.models.queryset import ORDER
from orchestrator.states import JobState
from orchestrator.workflow.operations import QUEUE


class CuttingPanel(Panel):
    title = gettext_lazy("Panel cutting")
    icon = "carpenter"
    queue, colours = QUEUE, COLOURS
    well, badly = (JobState.DONE,), (JobState.FAILED,)
    alarming_share, fewest_ended = ALARMING_SHARE, FEWEST_COUNTED
    oldest_means = gettext_lazy("How long the oldest due job has waited for a runner.")
    paused_title = gettext_lazy("Cutting queue paused by %(person)s")
    note = gettext_lazy("A retried job may fail more than once.")

    def oldest(self, user: User | AnonymousUser) -> PanelItem | None:
        job: Any = Job.objects.defer("payload").due().order_by(*ORDER).first()
        return PanelItem(job.order_id, self.row_address(job.pk), since=job.next_run_at) if job else None

    def problem_sources(self) -> Iterable[ProblemSource]:
        return sources_of(self)
