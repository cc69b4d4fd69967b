"""What was done to each piece of a job: a row for each step, which may be taken back, and nothing is deleted."""

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.column_guards import REFUSE, listed, quote, refuse_rows
from kilit.lock.constraints import checks
from kilit.lock.triggers import never
from orchestrator.models.job import SOLVED, Job

KEPT = ("id", "job_id", "part", "piece", "step", "done_at")
NOT_PLANNED = REFUSE.format(
    message="format('piece %s of part %s is no piece of a planned job: %s', NEW.piece, NEW.part, NEW.job_id)",
    hint=quote("Steps are recorded from the plan on, and not of cancelled jobs."),
)


class WorkStep(models.TextChoices):
    CUT = "cut", _("Cut")
    EDGED = "edged", _("Edged")
    DRILLED = "drilled", _("Drilled")
    PACKED = "packed", _("Packed")


class PieceStep(models.Model):
    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="piece_steps")
    part = models.PositiveSmallIntegerField(help_text="Which of the order's parts it is, from 1 on.")
    piece = models.PositiveSmallIntegerField(help_text="Which of the part's pieces it is, from 1 on.")
    step = models.CharField(max_length=7, choices=WorkStep)
    done_at = models.DateTimeField(db_default=Now(), editable=False)
    taken_back_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        constraints = [
            # Of two phones that press at once, one makes the row.
            models.UniqueConstraint(
                fields=["job", "part", "piece", "step"], condition=Q(taken_back_at=None), name="one_step_of_a_piece"
            ),
            *checks(
                piece_is_counted_from_one=Q(part__gte=1, piece__gte=1),
                step_is_known=Q(step__in=WorkStep.values),
                step_is_taken_back_after_it_was_done=Q(taken_back_at=None) | Q(taken_back_at__gte=F("done_at")),
            ),
        ]
        # A piece's page has all that happened to it.
        indexes = [models.Index(fields=["job", "part", "piece"], name="steps_of_piece")]
        triggers = [
            pgtrigger.Trigger(
                name="piece_is_planned",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert,
                # The lock: a job that is cancelled at this moment is cancelled before the step, or after it.
                func=f"""
                    IF NOT EXISTS (
                      SELECT FROM orchestrator_job WHERE id = NEW.job_id AND status IN ({listed(SOLVED)})
                        AND NEW.piece <= (payload->'parts'->(NEW.part - 1)->>'quantity')::int
                      FOR SHARE)
                    THEN {NOT_PLANNED} END IF;
                    RETURN NEW;
                """,
            ),
            refuse_rows(
                "step_stays",
                pgtrigger.Update,
                " OR ".join(
                    [
                        "OLD.taken_back_at IS NOT NULL OR NEW.taken_back_at IS NULL",
                        *(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in KEPT),
                    ]
                ),
                "format('step %s can only be taken back, once', OLD.id)",
                hint="Record the step again instead.",
            ),
            *never(pgtrigger.Delete, pgtrigger.Truncate, subject="steps of pieces", hint="Take them back instead."),
        ]

    def __str__(self) -> str:
        return f"{self.step}: piece {self.piece} of part {self.part}, job {self.job_id}"
