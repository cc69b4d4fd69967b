"""Why a cutting job does not move, in sentences with somewhere to go (CON-8, CON-9)."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from lifecycle.console.stillness import Reason, ended, free, held, kept, moment, no_worker, overdue, waits
from lifecycle.models import Event
from orchestrator.advice import advice
from orchestrator.models import Job
from orchestrator.states import Mode, State


def reasons(job: Job, timeline: list[Event]) -> Iterator[Reason]:
    """Return all that keeps a job where it is, or what it waits for."""
    match job.status:
        case State.DONE:
            yield ended(_("It has ended: the saw has it."))
        case State.HOLD:
            yield kept(_("It waits for a person: put this right, then Approve."))
            yield from (kept(sentence) for sentence in advice(job))
        case State.FAILED:
            yield kept(_("It has failed, and nothing tries it again by itself."))
            yield from (kept(sentence) for sentence in advice(job))
        case _:
            yield from _working(job, timeline)


def _working(job: Job, timeline: list[Event]) -> Iterator[Reason]:
    if job.lease_until:
        yield held(job.lease_until, timeline, after=_("the sweep orchestrator_release_lapsed lets it go on"))
        if job.lease_until < timezone.now():
            yield from overdue("orchestrator_release_lapsed")
    elif job.next_run_at > timezone.now():
        yield waits(_("It is looked at again at %(time)s.") % {"time": moment(job.next_run_at)})
    awaited = list(_awaited(job))
    yield from awaited
    if not job.lease_until:
        nobody = list(_nobody_works(job))
        yield from nobody
        if not awaited and not nobody and job.next_run_at <= timezone.now():
            yield free(_("seconds"))


def _awaited(job: Job) -> Iterator[Reason]:
    match job.status:
        case State.OPTI_IMPORTED:
            yield from _waits_for_slot(job)
        case State.OPTI_RUNNING:
            told = {"folder": settings.OPTI_EXPORT_FOLDER}
            yield waits(_("OptiPlanning was started; its solution is awaited in %(folder)s.") % told)
        case State.XML_READY:
            yield waits(_("The saw has not answered yet (%(folder)s).") % {"folder": settings.SAW_FOLDER})


def _waits_for_slot(job: Job) -> Iterator[Reason]:
    taken = Job.objects.filter(status=State.OPTI_RUNNING).only("pk", "order_id").first()
    if taken:
        yield waits(
            _("OptiPlanning runs one job at a time, and is busy with another."),
            link=_("Order %(order)s") % {"order": taken.order_id},
            href=reverse("admin:orchestrator_job_change", args=[taken.pk]),
        )
        return
    longer = Job.objects.waited_longer().filter(imported_at__lt=job.imported_at or Now()).exclude(pk=job.pk)
    if first := longer.only("pk", "order_id").order_by("imported_at").first():
        yield waits(
            _("Another order has waited longer for OptiPlanning."),
            link=_("Order %(order)s") % {"order": first.order_id},
            href=reverse("admin:orchestrator_job_change", args=[first.pk]),
        )


def _nobody_works(job: Job) -> Iterator[Reason]:
    """Say who would have to work; runners leave no heartbeat, the workers do."""
    if not settings.FLOOR_IS_HERE:
        yield waits(_("The floor's folders are on another machine: its runner takes it (orchestrator_tick --watch)."))
    elif job.status == State.OPTI_IMPORTED and job.opti_mode != Mode.C:
        yield waits(_("Only a runner that may wait for OptiPlanning starts it: manage.py orchestrator_tick --watch."))
    else:
        yield from no_worker(
            needed_for=_(
                "No worker is alive, so only a runner takes it: manage.py runworkers, or orchestrator_tick --watch."
            )
        )


def holdings(job: Job) -> list[tuple[str, Any]]:
    """Return the lease, the claim and the slot."""
    shown: list[tuple[str, Any]] = []
    if job.lease_until:
        shown += [(_("Lease until"), moment(job.lease_until)), (_("Claim"), f"…{str(job.claim_token)[-12:]}")]
    if job.status == State.OPTI_RUNNING:
        shown.append((_("Slot"), _("OptiPlanning, which runs one job at a time")))
    if job.delivery_names and job.status in (State.XML_READY, State.DELIVERED, State.DONE):
        shown.append((_("Handed to the saw as"), ", ".join(map(str, job.delivery_names))))
    return shown
