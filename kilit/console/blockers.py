"""Why is it not moving? Sentences that the queues' pages share; each queue puts together its own."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone
from django.utils.timesince import timeuntil
from django.utils.translation import gettext as _

from kilit.console.formatting import exactly
from kilit.lock.models import Event
from kilit.workers.models import Heartbeat, SweepRun
from kilit.workers.sweeps import sweeps

# A sweep that missed so many of its turns does not run.
TURNS_MISSED = 3
LEAST_OVERDUE = timedelta(minutes=2)


class Kind(StrEnum):
    """What a reason means for the job."""

    KEPT = "kept"  # something keeps it, and a person may have to act
    WAITS = "waits"  # it goes on by itself, when a time comes or somebody is done
    ENDED = "ended"
    FREE = "free"  # nothing keeps it


@dataclass(frozen=True)
class Reason:
    """A sentence, and where to look or act."""

    sentence: str
    kind: Kind
    link: str = ""
    href: str = ""


def kept(sentence: str, *, link: str = "", href: str = "") -> Reason:
    """Return what keeps a job where it is."""
    return Reason(sentence, Kind.KEPT, link, href)


def waits(sentence: str, *, link: str = "", href: str = "") -> Reason:
    """Return what a job waits for, and will get."""
    return Reason(sentence, Kind.WAITS, link, href)


def ended(sentence: str, *, link: str = "", href: str = "") -> Reason:
    return Reason(sentence, Kind.ENDED, link, href)


def free(within: str) -> Reason:
    sentence = _("Nothing keeps it: it is due, and a worker should take it within %(span)s.") % {"span": within}
    return Reason(sentence, Kind.FREE)


def no_worker() -> list[Reason]:
    if Heartbeat.objects.alive().exists():
        return []
    sentence = _("No worker is alive. Start one: manage.py runworkers.")
    return [kept(sentence, link=_("Workers"), href=reverse("console:workers"))]


def overdue(name: str) -> list[Reason]:
    """Say so when a sweep that the job waits for does not run, or fails."""
    every = sweeps[name].every
    missed = Q(taken_at=None) | Q(taken_at__lt=Now() - max(every * TURNS_MISSED, LEAST_OVERDUE))
    where = {"link": _("Sweeps"), "href": f"{reverse('console:workers')}#sweep-{name}"}
    if SweepRun.objects.filter(name=name).exclude(missed).exists():
        failed = SweepRun.objects.filter(name=name, succeeded=False).first()
        if failed is None:
            return []
        told = {"sweep": name, "result": failed.result}
        return [kept(_("The sweep %(sweep)s failed when it last ran: %(result)s") % told, **where)]
    return [kept(_("The sweep %(sweep)s is overdue: it has missed its turns.") % {"sweep": name}, **where)]


def held(until: datetime, timeline: list[Event], *, after: str) -> Reason:
    """Say who holds a job and until when; `after` says what happens when the time is over."""
    who = timeline[-1].actor if timeline else _("somebody")
    told = {"who": who, "until": moment(until), "after": after}
    if until > timezone.now():
        return waits(_("%(who)s holds it until %(until)s; then %(after)s.") % told)
    return waits(_("%(who)s held it until %(until)s and has not reported; %(after)s.") % told)


def moment(time: datetime) -> str:
    """Return a time in the reader's zone, and how far off it is."""
    exact = exactly(time)
    if time <= timezone.now():
        return exact
    return _("%(time)s (in %(span)s)") % {"time": exact, "span": timeuntil(time, depth=1)}


def first_of(*questions: Callable[[], list[Reason]]) -> list[Reason]:
    """Return the answer of the first question that has one."""
    for question in questions:
        if told := question():
            return told
    return []
