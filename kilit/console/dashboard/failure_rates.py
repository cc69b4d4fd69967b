"""Queues of which many jobs fail, as problems."""

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from kilit.console.dashboard.panels import panels
from kilit.console.formatting import number
from kilit.lock.models.counts import Count, CountDelta, HourCount
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, Severity

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


def failures_of_a_day() -> "list[QuerySet[Any]]":
    """Return rows of which there are some if a job failed within the last 24 hours."""
    states = {state for panel in panels for state in panel.badly}
    hours = HourCount.objects.filter(hour__gt=Now() - timedelta(days=1), state__in=states)
    return [hours.order_by("hour"), CountDelta.objects.filter(state__in=states)]


def find(user: "User | AnonymousUser") -> Iterator[Problem]:
    for panel in panels:
        if not panel.is_for(user):
            continue
        scopes = panel.queue.scopes_seen_by(user)
        hours = Count.objects.last_day(queue=panel.table.queue, well=panel.well, badly=panel.badly, scopes=scopes)
        # Without those that were expected to fail.
        well, failed = sum(hour.well for hour in hours), sum(hour.badly - hour.expected for hour in hours)
        ended = well + failed
        if ended >= panel.fewest_ended and failed / ended > panel.alarming_share:
            yield Problem(
                part=panel.table.queue,
                kind=ProblemKind.FAILURE_RATE,
                severity=Severity.SERIOUS,
                title=_("%(queue)s: %(percent)s%% failed in 24 hours")
                % {"queue": panel.title, "percent": round(100 * failed / ended)},
                cause=_("%(failed)s of %(ended)s jobs that ended") % {"failed": number(failed), "ended": number(ended)},
                link=panel.list_address(status=next(iter(panel.badly))),
            )
