"""Failed and stuck rows of a queue that is uploaded."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

from kilit.access.roles import is_owner
from kilit.batches.queues import Queue
from kilit.lock.models import ErrorGroup
from kilit.lock.models.error_groups import Cause, failures_of
from kilit.problems.failures import FailedRows, FailureLines, Step, causes_of, failures_in, sites
from kilit.problems.links import page_path
from kilit.problems.queues import StuckJobs, register_queue_problems
from kilit.problems.registry import Problem, ProblemAction, ProblemSource
from ociqueue.models import Site
from ociqueue.operating.errors import expected_adjustment_groups, expected_groups
from ociqueue.problems.sites import administered_by, switch_path
from ociqueue.queue import ADJUSTMENT_QUEUE, QUEUE
from ociqueue.states import SyncMethod

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def correct(rows: FailedRows, _reader: object) -> ProblemAction:
    """Lead to the list of a single row, and of several to the page that offers them as a file."""
    page = "import_csv" if rows.count > 1 else "changelist"
    return ProblemAction(_("Review and correct"), page_path(rows.queue.model, page, status=rows.state, **rows.filters))


def of_site(label: "StrOrPromise", page: str) -> Step:
    """Return the way to a page of the site, if all the rows are of one."""

    def step(rows: FailedRows, _reader: object) -> ProblemAction | None:
        return ProblemAction(str(label), page_path(Site, page, rows.scope)) if rows.scope else None

    return step


def switch(rows: FailedRows, reader: Any) -> ProblemAction | None:
    sites = administered_by(reader).filter(sync_method=SyncMethod.API)
    if rows.scope and sites.filter(pk=rows.scope).exists():
        return ProblemAction(_("Switch to Data Manager"), switch_path(rows.scope))
    return None


STEPS: dict[str, Step] = {
    "correct": correct,
    "connection": of_site(gettext_lazy("Open the site's connection"), "credentials"),
    "script": of_site(gettext_lazy("Open the site's script"), "ads_script"),
    "switch": switch,
}


@dataclass(frozen=True, kw_only=True)
class UploadProblems:
    queue: Queue
    failed: "StrOrPromise"  # the titles, by "count"
    stuck: "StrOrPromise"
    expected: Callable[[Mapping[str, str]], Collection[str]]

    def register(self, *more: ProblemSource) -> None:
        stuck = StuckJobs(
            queue=self.queue,
            rows=self._stuck_rows,
            title=self.stuck,
            cause=gettext_lazy("claimed over 15 minutes ago and not reported; a scheduled task takes them back"),
            since="claimed_at",
        )
        failed = ProblemSource(self.failures, lambda: failures_of(self.queue.table.queue))
        register_queue_problems(self.queue, *more, failed=failed, stuck=stuck.source(), steps=STEPS)

    def failures(self, reader: Any) -> list[Problem]:
        causes = self._unexpected(causes_of(self.queue, reader))
        names = self._names(causes)
        # An owner's causes are those of all sites. Only where some are archived, they are read again.
        if is_owner(reader) and not all(names.values()):
            active = [str(pk) for pk in Site.objects.active().values_list("pk", flat=True)]
            causes = self._unexpected(ErrorGroup.objects.causes(failures_in(self.queue, active))[0])
            names = self._names(causes)
        if not causes:
            return []
        return FailureLines(
            queue=self.queue,
            title=self.failed,
            reader=reader,
            scope_names={scope: name for scope, name in names.items() if name},
        ).problems(causes)

    def _unexpected(self, causes: list[Cause]) -> list[Cause]:
        expected = self.expected({cause.name: cause.code for cause in causes}) if causes else ()
        return [cause for cause in causes if cause.name not in expected]

    def _names(self, causes: list[Cause]) -> dict[str, str]:
        """Return the names of the sites of these causes, and of archived sites an empty one."""
        return {str(pk): "" if archived_at else name for pk, name, archived_at in sites()} if causes else {}

    def _stuck_rows(self, reader: object) -> Any:
        rows = self.queue.model.objects.stuck().order_by("claimed_at")
        return rows if is_owner(reader) else rows.visible_to(reader)


CONVERSIONS = UploadProblems(
    queue=QUEUE,
    failed=ngettext_lazy("%(number)s conversion failed", "%(number)s conversions failed", "count"),
    stuck=ngettext_lazy("%(number)s conversion is stuck", "%(number)s conversions are stuck", "count"),
    expected=expected_groups,
)
ADJUSTMENTS = UploadProblems(
    queue=ADJUSTMENT_QUEUE,
    failed=ngettext_lazy("%(number)s adjustment failed", "%(number)s adjustments failed", "count"),
    stuck=ngettext_lazy("%(number)s adjustment is stuck", "%(number)s adjustments are stuck", "count"),
    expected=expected_adjustment_groups,
)
