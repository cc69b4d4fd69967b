"""Who cuts a job: which of several saws, or people, who say what they have cut and when."""

from datetime import datetime
from typing import Self

import pgtrigger
from django.db import models
from django.db.models import CheckConstraint, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.audit import for_reason
from kilit.lock.column_guards import arrows, listed, quote, refuse_rows
from kilit.lock.constraints import checks
from kilit.lock.leases import LongJob, LongJobModel, LongJobQuerySet, no_lease
from orchestrator import sentences
from orchestrator.errors import Code
from orchestrator.states import BEFORE_A_SAW, BY_HAND, HANDED, JOBS, MAY_BE_WITH_THE_SAW, WITH_PEOPLE, JobState

# No runner takes the others before people have cut them.
NOT_WITH_PEOPLE = ~Q(status__in=WITH_PEOPLE, **BY_HAND)

BY_PEOPLE = ("cut_by_hand", "finish_by_hand", "cancel_uncut", "cancel_rest")


class CutByHandQuerySet(LongJobQuerySet[LongJob]):
    def with_people(self) -> Self:
        """Keep the jobs whose boards people cut."""
        return self.filter(status__in=WITH_PEOPLE, **BY_HAND)

    def before_a_saw(self) -> Self:
        """Keep the jobs of which no saw has or may have a file, and nobody has cut a board: their saw may change."""
        return self.filter(Q(status__in=BEFORE_A_SAW) | Q(status=JobState.XML_READY, **BY_HAND), open_deliveries=[])

    def note_boards(self, boards: int, *, by: str, at: datetime | None) -> int:
        """Record how many boards were cut so far; the first ones move the job, and fewer than before change nothing."""
        cut = {"boards_cut": boards, "cut_by": by, "cut_at": at or Now()}
        rows = self.with_people().filter(boards_cut__lt=boards)
        return rows.move("cut_by_hand", handed_at=Now(), **cut) or rows.filter(status=JobState.DELIVERED).update(**cut)

    def finish_by_hand(self, *, figures: dict[str, object] | None) -> int:
        return self.with_people().move("finish_by_hand", finished_at=Now(), figures=figures)

    def cancel_rest(self, **changes: object) -> int:
        return self.with_people().move("cancel_rest", finished_at=Now(), error_code=Code.CANCELLED, **changes)

    def cancel_uncut(self, **changes: object) -> int:
        return self.with_people().move("cancel_uncut", **changes)


class CutByHandModel(LongJobModel):
    error_code: str
    saw = models.CharField(
        _("saw"), max_length=64, blank=True, default="", db_default="", help_text="Of several; the rules list them."
    )
    saw_is_chosen = models.BooleanField(default=False, db_default=False, help_text="By people, not by the rules.")
    by_hand = models.BooleanField(default=False, db_default=False, help_text="There is no saw: people cut it.")
    cut_by = models.CharField(_("cut by"), max_length=100, blank=True, default="", db_default="")
    cut_at = models.DateTimeField(_("cut at"), null=True)
    boards_cut = models.PositiveIntegerField(default=0, db_default=0, help_text="By people, so far.")

    class Meta(LongJobModel.Meta):
        abstract = True

    @property
    def is_with_people(self) -> bool:
        return self.by_hand and self.status in WITH_PEOPLE

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled before anything was cut; one that was cut in part is DONE."""
        return self.status == JobState.FAILED and self.error_code == Code.CANCELLED

    @property
    def is_cut_in_part(self) -> bool:
        return self.status == JobState.DONE and self.error_code == Code.CANCELLED

    def leave_to_people(self, saw: str) -> Self:
        with for_reason(sentences.TO_BE_CUT_AT % {"saw": saw} if saw else sentences.TO_BE_CUT_BY_HAND):
            return self.move_held("await_cutting", by_hand=True, saw=saw, xml_ready_at=Now(), **no_lease())


def cutting_checks() -> list[CheckConstraint]:
    """Return what ties the states to who cuts: the saw, or people."""
    return checks(
        delivered_job_was_handed_over=~Q(status__in=HANDED) | Q(handed_at__isnull=False),
        open_delivery_may_be_with_the_saw=Q(open_deliveries=[]) | Q(status__in=MAY_BE_WITH_THE_SAW),
        # While the saw may have a file, or has taken one, only the saw's word counts.
        job_by_hand_is_not_at_the_saw=Q(by_hand=False) | Q(open_deliveries=[]),
        job_of_the_saw_is_cut_by_nobody=Q(by_hand=True) | Q(cut_by="", cut_at=None, boards_cut=0),
        job_cut_by_hand_says_by_whom=Q(by_hand=False)
        | ~Q(status__in=HANDED)
        | ~Q(cut_by="") & Q(cut_at__isnull=False, boards_cut__gt=0),
    )


def by_hand_guard() -> pgtrigger.Trigger:
    """Decide which saw or who cuts it once, when the plan is checked; keep what people said they cut.

    Before, and after a failure that left no file with a saw, people may choose another saw.
    """
    checked = arrows(edge for verb in ("await_cutting", "validate") for edge in JOBS.moves[verb].edges())
    same_state = f"OLD.status = NEW.status AND (NEW.status IN ({listed(BEFORE_A_SAW)}) OR NEW.by_hand)"
    may_choose = f"OLD.open_deliveries = '[]' AND NEW.open_deliveries = '[]' AND NEW.boards_cut = 0 AND ({same_state})"
    other_saw = f"OLD.saw <> NEW.saw AND (OLD.status, NEW.status) NOT IN ({checked}) AND NOT ({may_choose})"
    decided = arrows(edge for verb in ("await_cutting", "validate", "retry") for edge in JOBS.moves[verb].edges())
    cut = "(OLD.cut_by, OLD.cut_at, OLD.boards_cut) IS DISTINCT FROM (NEW.cut_by, NEW.cut_at, NEW.boards_cut)"
    return refuse_rows(
        "by_hand_is_decided",
        pgtrigger.Update,
        f"(OLD.by_hand IS DISTINCT FROM NEW.by_hand AND (OLD.status, NEW.status) NOT IN ({decided}) OR {other_saw}"
        f" OR NEW.boards_cut < OLD.boards_cut OR OLD.status = {quote(JobState.DONE)} AND {cut})",
        f"format('{JOBS.queue} %s is %s: who cuts it, and what people have cut, is decided', OLD.id, OLD.status)",
        hint="The rules decide it when a plan is checked.",
    )
