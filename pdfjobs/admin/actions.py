"""The two actions of an operator: each says what it will do, asks why, and reports what it did."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Case, CharField, Exists, F, OuterRef, Q, Value, When
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from kilit.bulk.queues import NotNow
from kilit.console.actions import ActionAtOnce
from kilit.workers import doorbells
from pdfjobs import cleanup
from pdfjobs.models import PdfJob
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.states import LIVE, PDF_JOBS, PdfStatus
from pdfjobs.storage.artifacts import StorageUnavailable

ANEW = gettext_noop("and asked for anew meanwhile")
ASKED_ANEW = f"{PdfStatus.FAILED} {ANEW}"


@dataclass(frozen=True, kw_only=True)
class PdfJobAction(ActionAtOnce):
    """A verb over jobs, whoever asked for them."""

    table = PDF_JOBS
    model = PdfJob

    apply_to: Callable[[PdfJobQuerySet], set[UUID]]

    def move(self, rows: PdfJobQuerySet, options: Mapping[str, Any]) -> set[UUID]:
        """Move by the verb of the same name."""
        try:
            return self.apply_to(rows)
        except StorageUnavailable as error:
            words = _("The storage of PDF files does not answer, so nothing was expired: %(error)s")
            raise NotNow(words % {"error": error}) from None


class Retry(PdfJobAction):
    """Queues failed jobs again, but for those whose document was asked for anew meanwhile."""

    def judged(self, rows: PdfJobQuerySet) -> PdfJobQuerySet:
        """Tell what the index of live keys will: a document is made once at a time, of several jobs by the oldest."""
        same = PdfJob.objects.filter(owner=OuterRef("owner"), job_key=OuterRef("job_key"))
        older = rows.filter(
            owner=OuterRef("owner"), job_key=OuterRef("job_key"), status=PdfStatus.FAILED, pk__lt=OuterRef("pk")
        )
        taken = Q(Exists(same.filter(status__in=LIVE))) | Q(Exists(older))
        anew = When(Q(status=PdfStatus.FAILED) & taken, then=Value(ASKED_ANEW))
        return rows.annotate(verdict=Case(anew, default=F("status"), output_field=CharField()))


def retry(rows: PdfJobQuerySet) -> set[UUID]:
    """Queue failed jobs again, and call a worker."""
    moved = rows.retry_selected()
    doorbells.ring(PDF_JOBS.queue)
    return moved


RETRY = Retry(
    "retry",
    "retry_selected",
    title=_("Retry"),
    done=_("Retried"),
    effect=_(
        "They wait for a worker again, with two retries in hand. One whose document was asked for anew meanwhile "
        "stays as it is."
    ),
    icon="replay",
    apply_to=retry,
)
EXPIRE = PdfJobAction(
    "expire",
    "expire",
    title=_("Expire"),
    done=_("Expired"),
    effect=_("Their files and variables are deleted for good. Asking for the same document makes a new job."),
    icon="delete_forever",
    apply_to=cleanup.expire,
    is_dangerous=True,
)
