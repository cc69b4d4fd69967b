"""The two actions of an operator: each says what it will do, asks why, and reports what it did (CON-4)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import messages

from lifecycle.console.actions import Action, Preview, Report, left_as
from lifecycle.workers import bells
from pdfjobs import cleanup
from pdfjobs.models import PdfJob
from pdfjobs.models.queryset import PdfJobQuerySet
from pdfjobs.states import PDF_JOBS, Status
from pdfjobs.store import StoreDown

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User


@dataclass(frozen=True, kw_only=True)
class PdfJobAction(Action):
    """A verb over jobs, whoever asked for them."""

    table = PDF_JOBS

    apply: Callable[[PdfJobQuerySet], set[UUID]]

    def preview(self, user: "User | AnonymousUser", ids: Sequence[UUID]) -> Preview:
        """Look at rows as the action would find them now."""
        states = Counter(PdfJob.objects.filter(pk__in=ids).values_list("status", flat=True))
        return self.foretell_by_state(len(ids), states)

    def perform(self, user: "User | AnonymousUser", ids: Sequence[UUID], options: dict[str, Any]) -> Report:
        """Act on rows, and say what was done."""
        rows = PdfJob.objects.filter(pk__in=ids)
        try:
            moved = self.apply(rows)
        except StoreDown as error:
            sentence = f"The store of PDF files does not answer, so nothing was expired: {error}"
            return Report(sentence, messages.ERROR)
        left = Counter(rows.exclude(pk__in=moved).values_list("status", flat=True))
        told = left_as(left)
        if self is RETRY and left[Status.FAILED]:
            told[-1] += " and asked for anew meanwhile"
        return self.report(len(ids), len(moved), *told)


def retry(rows: PdfJobQuerySet) -> set[UUID]:
    """Queue failed jobs again, and call a worker."""
    moved = rows.retry_selected()
    bells.ring(PDF_JOBS.queue)
    return moved


RETRY = PdfJobAction(
    "retry_selected",
    title="Retry",
    done="Retried",
    effect="They wait for a worker again, with two retries in hand. One whose document was asked for anew meanwhile "
    "stays as it is.",
    apply=retry,
)
EXPIRE = PdfJobAction(
    "expire",
    title="Expire",
    done="Expired",
    effect="Their files and variables are deleted for good. Asking for the same document makes a new job.",
    apply=cleanup.expire,
    is_dangerous=True,
)
