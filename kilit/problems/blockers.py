"""What blocks a job: sentences that all queues share, read by pages and by programs; each queue adds its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from kilit.batches.queues import queues
from kilit.lock.attempts import RetriedModel
from kilit.lock.audit import actor_in_words
from kilit.lock.guard import LifecycleModel
from kilit.lock.leases import LeasedModel
from kilit.lock.models import Event, QueuePause
from kilit.lock.table import Kind
from kilit.machine_errors import explain
from kilit.problems.links import list_path, workers_path
from kilit.spans import moment
from kilit.workers.models import Heartbeat, SweepRun
from kilit.workers.sweeps import sweeps

# A scheduled task that missed this many runs is overdue.
RUNS_MISSED = 3
LEAST_OVERDUE = timedelta(minutes=2)


class BlockerKind(StrEnum):
    BLOCKED = "blocked"  # someone may have to act
    WAITING = "waiting"  # it continues automatically, at a time or when another job is done
    ENDED = "ended"
    READY = "ready"  # nothing blocks it


@dataclass(frozen=True)
class Blocker:
    kind: BlockerKind
    sentence: str
    link: str = ""
    href: str = ""


blocked = partial(Blocker, BlockerKind.BLOCKED)
waiting = partial(Blocker, BlockerKind.WAITING)
ended = partial(Blocker, BlockerKind.ENDED)


def ready(within: str) -> Blocker:
    sentence = _("Nothing: it is due, and a worker should start it within %(span)s.") % {"span": within}
    return Blocker(BlockerKind.READY, sentence)


def no_worker() -> list[Blocker]:
    if Heartbeat.objects.alive().exists():
        return []
    sentence = _("No worker is running. Start one: manage.py runworkers.")
    return [blocked(sentence, link=_("Workers"), href=workers_path())]


def paused(model: type[LifecycleModel]) -> list[Blocker]:
    """Return the pause of a queue; its list offers to resume it."""
    return [
        blocked(
            _("The queue is paused by %(person)s: %(why)s")
            % {"person": actor_in_words(pause.paused_by), "why": pause.reason},
            link=_("The queue"),
            href=list_path(model),
        )
        for pause in QueuePause.objects.of(model.lifecycle)
    ]


def overdue(name: str) -> list[Blocker]:
    every = sweeps[name].every
    missed = Q(taken_at=None) | Q(taken_at__lt=Now() - max(every * RUNS_MISSED, LEAST_OVERDUE))
    where = {"link": _("Scheduled tasks"), "href": workers_path(name)}
    if SweepRun.objects.filter(name=name).exclude(missed).exists():
        failed = SweepRun.objects.filter(name=name, succeeded=False).first()
        if failed is None:
            return []
        values = {"task": name, "result": explain(failed.result)}
        return [blocked(_("The scheduled task %(task)s failed on its last run: %(result)s") % values, **where)]
    return [blocked(_("The scheduled task %(task)s is overdue.") % {"task": name}, **where)]


def held(until: datetime, timeline: list[Event], *, after: str) -> Blocker:
    """Return who holds a job and until when; `after` is what happens then."""
    who = timeline[-1].actor if timeline else _("A worker")
    values = {"who": who, "until": moment(until), "after": after}
    if until > timezone.now():
        return waiting(_("%(who)s holds it until %(until)s; then %(after)s.") % values)
    return waiting(_("%(who)s held it until %(until)s and has not reported; %(after)s.") % values)


def leased(row: LeasedModel, timeline: list[Event], *, task: str, after: str) -> Iterator[Blocker]:
    """Return who holds a job, and what keeps the scheduled task from taking it back once its lease has lapsed."""
    if row.lease_until:
        yield held(row.lease_until, timeline, after=after)
        if row.lease_until < timezone.now():
            yield from overdue(task) or no_worker()


def next_attempt(row: LifecycleModel) -> list[Blocker]:
    if not isinstance(row, RetriedModel) or row.next_try_at <= timezone.now():
        return []
    values = {"number": row.attempt_count + 1, "time": moment(row.next_try_at)}
    return [waiting(_("Attempt %(number)s is made at %(time)s.") % values)]


def failed(row: LifecycleModel, **where: str) -> Iterator[Blocker]:
    """Return what is known of a row's error: why, what helps, and whose turn it is."""
    entry = queues[row.lifecycle.queue].entry_of(row)
    if entry.is_expected:
        yield from (ended(sentence) for sentence in entry.sentences())
        if not entry.advice:
            yield ended(_("There is nothing to do."))
        return
    yield blocked(_("Failed. It will not be retried automatically."))
    yield from (blocked(sentence, **where) for sentence in entry.sentences())


def reasons_by_kind(row: LifecycleModel, timeline: list[Event]) -> Iterator[Blocker]:
    """Return what any queue can say of a row by the kind of its state."""
    match row.lifecycle.kinds[row.status]:
        case Kind.WAITING:
            yield from [*paused(type(row)), *no_worker(), *next_attempt(row)] or [ready(_("seconds"))]
        case Kind.HELD if isinstance(row, LeasedModel) and row.lease_until:
            yield held(row.lease_until, timeline, after=_("a scheduled task takes it back"))
        case Kind.DONE:
            yield ended(_("Done"))
        case Kind.FAILED:
            yield from failed(row)


def lease_holdings(row: LeasedModel) -> list[tuple[str, object]]:
    if not row.lease_until:
        return []
    return [(_("Lease until"), moment(row.lease_until)), (_("Claim"), f"…{str(row.claim_token)[-12:]}")]
