"""Failed and stuck rows of a queue that is uploaded, as lines of the dashboard."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kilit.access.roles import is_owner
from kilit.console.dashboard.failure_problems import FailureLines
from kilit.console.dashboard.panels import Panel, StuckRows
from kilit.lock.models import ErrorGroup
from kilit.lock.models.error_groups import Cause, failures_of
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import MOST_NAMED, Problem, ProblemSource, Severity, with_number
from ociqueue.models import Adjustment, Site
from ociqueue.operating.failure_groups import expected_adjustment_groups, expected_groups, groups_of_wrong_data
from ociqueue.states import ConversionStatus

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

BY_HAND = "MANUAL_FAIL"  # an operator decided it


@dataclass(frozen=True)
class UploadProblems:
    """Those of conversions; adjustments have other words."""

    panel: Panel
    user: "User | AnonymousUser"

    def failed_title(self, count: int) -> str:
        return with_number(ngettext("%(number)s conversion failed", "%(number)s conversions failed", count), count)

    def stuck_title(self, count: int) -> str:
        return with_number(ngettext("%(number)s conversion is stuck", "%(number)s conversions are stuck", count), count)

    def expected(self, codes: dict[str, str]) -> Collection[str]:
        return expected_groups(codes)

    def is_wrong_data(self, cause: Cause) -> bool:
        return bool(groups_of_wrong_data([cause.name]))

    def failures(self) -> list[Problem]:
        queue = self.panel.queue
        causes = self._causes(Site.objects.scopes_shown_to(self.user))
        names = self._names(causes)
        # An owner's causes are those of all sites. Only where some are archived, they are read again.
        if is_owner(self.user) and not all(names.values()):
            causes = self._causes([str(pk) for pk in Site.objects.active().values_list("pk", flat=True)])
            names = self._names(causes)
        if not causes:
            return []
        may_act = queue.may_act(self.user)
        return FailureLines(
            part=queue.table.queue,
            title=self.failed_title,
            list_of=lambda filters: self.panel.list_address(**filters),
            groups=self.panel.groups_address(),
            retry_of=lambda cause: self.panel.bulk_address("retry", group=cause.name) if may_act else "",
            is_wrong_data=self.is_wrong_data,
            scope_names={scope: name for scope, name in names.items() if name},
        ).problems(causes, timezone.now())

    def _causes(self, scopes: list[str] | None) -> list[Cause]:
        causes = ErrorGroup.objects.causes(
            queue=self.panel.queue.table.queue,
            states=[ConversionStatus.FAILED],
            scopes=scopes,
            without=[BY_HAND],
            named=MOST_NAMED,
        )
        expected = self.expected({cause.name: cause.code for cause in causes}) if causes else ()
        return [cause for cause in causes if cause.name not in expected]

    def _names(self, causes: list[Cause]) -> dict[str, str]:
        """Return the names of the sites of these causes, and of archived sites an empty one."""
        if not (named := {scope for cause in causes for scope, _total in cause.scopes}):
            return {}
        sites = Site.objects.filter(Q(pk__in=named) | Q(archived_at__isnull=False))
        return {str(pk): "" if gone else name for pk, name, gone in sites.values_list("pk", "name", "archived_at")}

    def stuck(self) -> Iterator[Problem]:
        rows = stuck_rows(self.panel)
        stuck = StuckRows.among(rows if is_owner(self.user) else rows.visible_to(self.user))
        if stuck.count:
            yield Problem(
                part=self.panel.table.queue,
                kind=ProblemKind.STUCK,
                severity=Severity.WARNING,
                title=self.stuck_title(stuck.count),
                cause=_("claimed over 15 minutes ago and not reported; a scheduled task takes them back"),
                count=stuck.count,
                since=stuck.worst[0].claimed_at,
                link=self.panel.list_address(status=ConversionStatus.PROCESSING),
            )


def sources_of_uploads(panel: Panel, kind: type[UploadProblems]) -> Iterator[ProblemSource]:
    queue = panel.table.queue
    yield ProblemSource(lambda user: kind(panel, user).failures(), lambda: failures_of(queue))
    yield ProblemSource(lambda user: kind(panel, user).stuck(), lambda: [stuck_rows(panel)])


def stuck_rows(panel: Panel) -> Any:
    rows: Any = panel.model._default_manager
    return rows.stuck().order_by("claimed_at")


class AdjustmentProblems(UploadProblems):
    def failed_title(self, count: int) -> str:
        return with_number(ngettext("%(number)s adjustment failed", "%(number)s adjustments failed", count), count)

    def stuck_title(self, count: int) -> str:
        return with_number(ngettext("%(number)s adjustment is stuck", "%(number)s adjustments are stuck", count), count)

    def expected(self, codes: dict[str, str]) -> Collection[str]:
        return expected_adjustment_groups(codes)

    def is_wrong_data(self, cause: Cause) -> bool:
        return bool(groups_of_wrong_data([cause.name], model=Adjustment))
