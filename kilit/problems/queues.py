"""What may be wrong with any queue: it is paused, many of its jobs fail, or some are stuck."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kilit.batches.queues import Queue, queues
from kilit.lock.audit import actor_in_words
from kilit.lock.models import QueuePause
from kilit.lock.models.counts import Count, CountDelta, HourCount
from kilit.lock.table import Kind
from kilit.problems.failures import Step, failures, group_steps
from kilit.problems.kinds import ProblemKind
from kilit.problems.links import list_path, page_path, row_path
from kilit.problems.registry import (
    Place,
    Problem,
    ProblemAction,
    ProblemSource,
    Reader,
    SeesEverything,
    Severity,
    find_problems,
    number,
    register_problems,
    with_number,
)
from kilit.workers.due_rows import DueRows

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

STUCK_AFTER = timedelta(minutes=5)  # a sweep that takes rows back runs each minute
STUCK_COUNTED = 1000
STUCK = gettext_lazy("%(queue)s: %(number)s stuck")
LEASE_LAPSED = gettext_lazy("their worker's lease lapsed; a scheduled task takes them back")

queues_with_problems: set[str] = set()


def register_queue_problems(
    queue: Queue,
    *more: ProblemSource,
    failed: ProblemSource | None = None,
    stuck: ProblemSource | None = None,
    steps: Mapping[str, Step] | None = None,
) -> None:
    """Register what finds a queue's problems, for those who may see the queue, and the ways on from its errors."""

    def guard(source: ProblemSource) -> ProblemSource:
        return source._replace(find=lambda user: source.find(user) if queue.may_see(user) else ())

    if queue.table.queue not in queues:  # switched off
        return
    queues_with_problems.add(queue.table.queue)
    group_steps[queue.table.queue] = steps or {}
    sources = (failed or failures(queue), stuck or StuckJobs(queue=queue).source(), *more)
    register_problems(*(guard(source) for source in sources))


def register_other_queues() -> None:
    """Register the problems of queues that have no words of their own for them."""
    for name, queue in queues.items():
        if name not in queues_with_problems:
            register_queue_problems(queue)


@dataclass(frozen=True, kw_only=True)
class StuckJobs:
    """Rows that should have moved on by now, as one problem: those whose lease lapsed, or what a queue names."""

    queue: Queue
    severity: Severity = Severity.WARNING
    rows: Callable[[Reader], QuerySet[Any]] | None = None  # those that a reader sees, the worst first
    title: "StrOrPromise" = STUCK  # by "count"
    cause: "StrOrPromise" = LEASE_LAPSED
    missing: Callable[[Any], str] = lambda _worst: ""  # a better cause for the worst
    since: str = "lease_until"  # a column of the worst
    place: str = ""  # the column that names the worst
    filters: dict[str, str] | None = None  # of the list; by default the state of held rows

    def source(self, rows: DueRows | None = None) -> ProblemSource:
        return ProblemSource(self.find, rows or (lambda: [self._rows(SeesEverything())]))

    def _rows(self, reader: Reader) -> QuerySet[Any]:
        columns = filter(None, (self.since, self.place))
        return (self.rows(reader) if self.rows else self._lapsed(reader)).only("pk", *columns)

    def _lapsed(self, reader: Reader) -> QuerySet[Any]:
        held = self.queue.visible_to(reader).filter(status__in=self._held)
        lapsed: QuerySet[Any] = held.filter(lease_until__lt=Now() - STUCK_AFTER)
        return lapsed.order_by("lease_until")

    @property
    def _held(self) -> tuple[str, ...]:
        return self.queue.table.of_kind(Kind.HELD)

    def find(self, reader: Reader) -> Iterator[Problem]:
        rows = list(self._rows(reader)[:STUCK_COUNTED])
        if not rows:
            return
        filters = {"status": self._held[0]} if self.filters is None else self.filters
        worst, count = rows[0], len(rows)
        yield Problem(
            part=self.queue.table.queue,
            kind=ProblemKind.STUCK,
            severity=self.severity,
            title=with_number(self.title, count, queue=str(self.queue.title)),
            cause=self.missing(worst) or str(self.cause),
            count=count,
            where=[Place(getattr(worst, self.place), link=row_path(worst))] if self.place else (),
            beyond=count - 1 if self.place else 0,
            since=getattr(worst, self.since),
            link=list_path(self.queue.model, **filters),
        )


def find_pauses(reader: Reader) -> Iterator[Problem]:
    for pause in QueuePause.objects.all():
        queue = queues.get(pause.queue)
        if queue is None or not queue.may_see(reader):
            continue
        resume = ProblemAction(_("Resume"), page_path(queue.model, "resume_queue"), is_done_at_once=True)
        yield Problem(
            part=pause.queue,
            kind=ProblemKind.PAUSED,
            severity=Severity.SERIOUS,
            title=str(queue.paused_title) % {"person": actor_in_words(pause.paused_by)},
            cause=pause.reason,
            since=pause.paused_at,
            link=list_path(queue.model),
            action=resume if queue.may_pause(reader) else None,
        )


def find_failure_rates(reader: Reader) -> Iterator[Problem]:
    for queue in queues.values():
        if not queue.badly or not queue.may_see(reader):
            continue
        name, scopes = queue.table.queue, queue.scopes_seen_by(reader)
        hours = Count.objects.last_day(queue=name, well=queue.well, badly=queue.badly, scopes=scopes)
        # Without those that were expected to fail.
        well, failed = sum(hour.well for hour in hours), sum(hour.badly - hour.expected for hour in hours)
        ended = well + failed
        if ended >= queue.fewest_ended and failed / ended > queue.alarming_share:
            yield Problem(
                part=name,
                kind=ProblemKind.FAILURE_RATE,
                severity=Severity.SERIOUS,
                title=_("%(queue)s: %(percent)s%% failed in 24 hours")
                % {"queue": queue.title, "percent": round(100 * failed / ended)},
                cause=_("%(failed)s of %(ended)s jobs that ended") % {"failed": number(failed), "ended": number(ended)},
                link=list_path(queue.model, status=next(iter(queue.badly))),
            )


def _failures_of_a_day() -> list[QuerySet[Any]]:
    """Return rows of which there are some if a job failed within the last 24 hours."""
    states = {state for queue in queues.values() for state in queue.badly}
    hours = HourCount.objects.filter(hour__gt=Now() - timedelta(days=1), state__in=states)
    return [hours.order_by("hour"), CountDelta.objects.filter(state__in=states)]


PAUSES = ProblemSource(find_pauses, lambda: [QueuePause.objects.all()])
FAILURE_RATES = ProblemSource(find_failure_rates, _failures_of_a_day, is_sum=True)


def triage(reader: Reader) -> list[Problem]:
    """Return the lines of a reader; each job is in one of them."""
    return find_problems(reader, with_sums=False)
