"""Limits that operators watch: how long OptiPlanning and the saw may take, and how many jobs are on HOLD."""

from collections.abc import Iterator
from datetime import timedelta

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kilit.console.dashboard.panels import Panel
from kilit.console.formatting import number
from kilit.lock.clock import database_time
from kilit.lock.models.error_groups import Cause
from kilit.problems.kinds import ProblemKind
from kilit.problems.registry import Problem, Severity, with_number
from orchestrator.errors import Code
from orchestrator.metrics import OPTIPLANNING, SAW, WAITS, held_share, wait_limits, waiting_since
from orchestrator.states import JOBS, JobState

MOST_HELD = 5
ALARMING_SHARE = 0.05
OVERDUE = {
    OPTIPLANNING: (ProblemKind.OPTIPLANNING_OVERDUE, gettext_lazy("OptiPlanning has worked on a job for too long")),
    SAW: (ProblemKind.SAW_OVERDUE, gettext_lazy("The saw does not answer")),
}


def overdue(panel: Panel) -> Iterator[Problem]:
    """A runner fails a job that is over its limit, so one that stays there has no runner."""
    waiting = {party: since for party, since in waiting_since().items() if since}
    limits, now = (wait_limits(), database_time()) if waiting else ({}, None)
    for party, since in waiting.items():
        if now is None or party not in limits or now - since <= limits[party]:
            continue
        kind, title = OVERDUE[party]
        yield Problem(
            part=JOBS.queue,
            kind=kind,
            severity=Severity.SERIOUS,
            title=str(title),
            cause=_("longer than the %(minutes)s minutes of the rules") % {"minutes": _minutes(limits[party])},
            since=since,
            link=panel.list_address(status=WAITS[party][0]),
        )


def many_on_hold(panel: Panel, causes: list[Cause]) -> Iterator[Problem]:
    held = sum(cause.total for cause in causes)
    if any(cause.code != Code.OPERATOR_TRIGGER_REQUIRED for cause in causes):
        yield from _large_share_on_hold(panel)
    if held > MOST_HELD:
        yield Problem(
            part=JOBS.queue,
            kind=ProblemKind.MANY_ON_HOLD,
            severity=Severity.SERIOUS,
            title=with_number(
                ngettext("%(number)s cutting job is on HOLD", "%(number)s cutting jobs are on HOLD", held), held
            ),
            cause=_("often they have one cause"),
            count=held,
            link=panel.list_address(status=JobState.HOLD),
        )


def _large_share_on_hold(panel: Panel) -> Iterator[Problem]:
    today = held_share()
    if today.share > ALARMING_SHARE:
        yield Problem(
            part=JOBS.queue,
            kind=ProblemKind.HELD_SHARE,
            severity=Severity.SERIOUS,
            title=_("%(percent)s%% of the orders of the last 24 hours are on HOLD")
            % {"percent": round(100 * today.share)},
            cause=_("%(held)s of %(orders)s orders") % {"held": number(today.held), "orders": number(today.orders)},
            count=today.held,
            link=panel.list_address(status=JobState.HOLD),
        )


def _minutes(span: timedelta) -> str:
    return f"{span.total_seconds() / 60:g}"
