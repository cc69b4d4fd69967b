"""The engine of batch jobs: bulk actions and imports.

A job is done in steps. A step is one transaction with what it did and the place it reached, so a worker that is killed
leaves a whole number of batches, and the next worker continues after the last of them.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.utils import translation
from django.utils.translation import gettext_noop as _

from kilit.batches.jobs import BatchJobQuerySet, Job
from kilit.batches.operations import OperationUnavailable
from kilit.lock.audit import acting_as
from kilit.lock.guard import MoveRefused
from kilit.lock.leases import MOST_LAPSES, ClaimLost
from kilit.lock.models import Event
from kilit.lock.text import storable
from kilit.sentences import sentence
from kilit.trace import job_trace
from kilit.workers import doorbells

logger = logging.getLogger(__name__)

TRY_AGAIN_AFTER = timedelta(seconds=15)
LAPSED = sentence("BATCH_LAPSED", _("%(most)s workers died or lost the database."))
INTERRUPTED = sentence("BATCH_INTERRUPTED", _("%(error)s; see the log."))


class BatchStopped(Exception):
    """The job ends here, by this verb; the message says why."""

    def __init__(self, why: str, *, verb: str = "fail") -> None:
        super().__init__(why)
        self.verb = verb


@dataclass(frozen=True, kw_only=True)
class BatchEngine(Generic[Job]):
    bell: str
    rows: Callable[[], BatchJobQuerySet[Job]]
    steps: Callable[[Job], Iterator[object]]  # renews the claim in each step, so that a cancelled job stops
    end: Callable[[Job], None] = lambda _job: None  # what is done in the transaction in which a job is stopped
    language: Callable[[Job], str] = lambda _job: "en"  # of errors

    @property
    def actor(self) -> str:
        return f"worker:{self.bell}"

    def doorbell(self) -> doorbells.Doorbell:
        return doorbells.Doorbell(
            self.bell,
            due=lambda: [self.rows().due()],
            handler=self.handle_bell,
            untaken=lambda: doorbells.due_for_long(self.rows().due(), "updated_at"),
        )

    def work_due(self, *, seconds: float | None = None) -> int:
        """Work on due jobs, for at most about so many seconds; return how many were claimed."""
        until, claimed = math.inf if seconds is None else time.monotonic() + seconds, 0
        with acting_as(self.actor):
            while time.monotonic() < until and (job := self.rows().claim()):
                claimed += 1
                with job_trace(Event.objects.trace_of(job), self.bell), translation.override(self.language(job)):
                    self.work(job, until=until)
        return claimed

    def handle_bell(self) -> None:
        """Work within the time that a task may take; if something is left, ring again."""
        if self.work_due(seconds=settings.TASK_TIMEOUT / 2):
            doorbells.ring_if_due(self.bell)

    def work_now(self, job: Job, *, seconds: float, report: Callable[[Any], None] = lambda _step: None) -> None:
        """Work on a claimed job in this process; what is left after so many seconds is left to workers."""
        with acting_as(self.actor):
            self.work(job, until=time.monotonic() + seconds, report=report)
        doorbells.ring_if_due(self.bell)
        job.refresh_from_db()

    def work(self, job: Job, *, until: float = math.inf, report: Callable[[Any], None] = lambda _step: None) -> None:
        """Continue a claimed job until it ends or waits, the time is up, or another worker has it."""
        try:
            if job.lapse_count >= MOST_LAPSES:
                raise BatchStopped(job.error or LAPSED % {"most": MOST_LAPSES})
            for step in self.steps(job):
                report(step)
                if time.monotonic() >= until:
                    break
        except (ClaimLost, MoveRefused):
            return  # cancelled, or another worker has it
        except (OperationalError, InterfaceError):
            raise  # the database is away, for all workers: the lease lapses and another worker continues
        except BatchStopped as why:
            with suppress(MoveRefused):
                self._stop(job, why)
        except OperationUnavailable as why:
            self._try_later(job, str(why))
        except Exception as error:
            logger.exception("%s was interrupted", job)
            self._try_later(job, INTERRUPTED % {"error": type(error).__name__})
        else:
            job.release()

    @transaction.atomic
    def cancel(self, job: Job) -> bool:
        stopped = self.rows().filter(pk=job.pk).cancel()
        if stopped:
            job.refresh_from_db()
            self.end(job)
        return bool(stopped)

    def cancel_unconfirmed(self) -> int:
        return sum(map(self.cancel, self.rows().never_confirmed()))

    @transaction.atomic
    def _stop(self, job: Job, why: BatchStopped) -> None:
        job.stop(why.verb, str(why))
        self.end(job)

    def _try_later(self, job: Job, error: str) -> None:
        # The lease is kept as a pause: the next worker finds it lapsed, and counts that.
        with suppress(ClaimLost):
            job.renew(length=TRY_AGAIN_AFTER, error=storable(error, 1000))
