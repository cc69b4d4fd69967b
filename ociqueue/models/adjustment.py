"""An adjustment to a conversion that Google may have: it is retracted, or gets another value."""

from collections.abc import Mapping
from typing import Self
from uuid import UUID

import pgtrigger
from django.db import models
from django.db.models import Exists, Index, OuterRef, Q, UniqueConstraint
from django.utils.translation import gettext_lazy as _

from kilit.lock.attempts import ATTEMPTS, FORGIVEN
from kilit.lock.column_guards import Counters
from kilit.lock.constraints import checks
from kilit.lock.prefixes import prefix_index
from kilit.lock.triggers import after_statement, lifecycle_triggers
from ociqueue import sentences
from ociqueue.codes.table import ADJUSTMENT_ENTRIES, EXPECTED_ADJUSTMENT_FAILURES, ORIGINAL_FAILED
from ociqueue.models.batch import UploadBatch
from ociqueue.models.conversion import END_RETRACTED, Conversion
from ociqueue.models.sending import FREE, NO_ERROR, Changes, UploadableQuerySet, failure
from ociqueue.models.site import Site
from ociqueue.models.uploadable import FACTS, Uploadable, failures_of, uploadable_checks, uploadable_indexes
from ociqueue.states import (
    ADJUSTMENTS,
    CONVERSIONS,
    ENDED,
    IN_UPLOAD,
    LIVE,
    WAITING,
    AdjustmentKind,
    Category,
    ConversionStatus,
    SyncMethod,
)

ADJUSTMENT_PREFIX = "adj_"
CLICK_ID = "(SELECT gclid || wbraid || gbraid FROM offline_conversion_queue WHERE id = {row}.original_id)"
FAILURES = failures_of(ADJUSTMENTS, EXPECTED_ADJUSTMENT_FAILURES, quoted=CLICK_ID)
WITHOUT_ORIGINAL = tuple(ORIGINAL_FAILED)
LOST_ORIGINAL = Q(original__status=ConversionStatus.FAILED)
RETRACTS_UNSENT = Q(kind=AdjustmentKind.RETRACTION, original__status__in=WAITING, original__outcome_unknown=False)

# What is sent to Google must be allowed by the conversion as it is now, whatever sent it.
CLAIM_ALLOWED = """
    IF NEW.is_overtaken OR NOT EXISTS (
      SELECT FROM offline_conversion_queue WHERE id = NEW.original_id AND status = 'COMPLETED'
    ) THEN
      RAISE EXCEPTION USING ERRCODE = 'check_violation',
        MESSAGE = format('adjustment %s cannot be claimed', NEW.id),
        HINT = 'Its conversion must be COMPLETED, and no newer adjustment may exist.';
    END IF;
    RETURN NEW;
"""
ENTRY_ALLOWED = """
    IF EXISTS (
      SELECT FROM ociqueue_adjustment WHERE original_id = NEW.original_id
        AND (kind = 'RETRACTION' OR adjusted_at >= NEW.adjusted_at)
    ) THEN
      RAISE EXCEPTION USING ERRCODE = 'check_violation',
        MESSAGE = format('conversion %s cannot be adjusted at %s', NEW.original_id, NEW.adjusted_at),
        HINT = 'Adjustments of a conversion follow each other in time, and nothing follows a retraction.';
    END IF;
    RETURN NEW;
"""
# The timeline of the conversion shows what became of its adjustments.
RECORD_ON_ORIGINAL = """
    INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)
    SELECT '{queue}', n.original_id, {event_type}, c.status, c.status,
      coalesce(nullif(current_setting('kilit.actor', true), ''), session_user), {message},
      jsonb_strip_nulls(jsonb_build_object('adjustment', '{prefix}' || n.id, 'kind', n.kind, 'value', n.value,
        'currency', nullif(n.currency, ''), 'code', nullif(n.provider_error_code, ''))), now()
    FROM {rows} JOIN offline_conversion_queue c ON c.id = n.original_id {where};
    RETURN NULL;
"""
ADDED = RECORD_ON_ORIGINAL.format(
    queue=CONVERSIONS.queue,
    prefix=ADJUSTMENT_PREFIX,
    event_type="'ADJUSTMENT_ADDED'",
    message="coalesce(current_setting('kilit.reason', true), '')",
    rows="new_rows n",
    where="",
)
MOVED = RECORD_ON_ORIGINAL.format(
    queue=CONVERSIONS.queue,
    prefix=ADJUSTMENT_PREFIX,
    event_type="'ADJUSTMENT_' || n.status",
    message="n.last_error",
    rows="new_rows n JOIN old_rows o ON o.id = n.id",
    where="WHERE n.status IN ('UPLOADED', 'COMPLETED', 'FAILED') AND n.status <> o.status",
)


class AdjustmentQuerySet(UploadableQuerySet["Adjustment"]):
    def newest(self) -> Self:
        return self.filter(is_overtaken=False)

    def due(self, *, path: SyncMethod | None = None) -> Self:
        """Return what may be claimed now: the conversion is COMPLETED, this is its newest, and none is in flight."""
        in_flight = Adjustment.objects.filter(original=OuterRef("original"), status__in=IN_UPLOAD)
        return super().due(path=path).newest().filter(~Exists(in_flight), original__status=ConversionStatus.COMPLETED)

    def unsendable(self) -> Self:
        """Return what waits and will not be sent: what `end_unsendable` would end now."""
        return self.waiting().filter(Q(is_overtaken=True) | LOST_ORIGINAL | RETRACTS_UNSENT)

    def end_unsendable(self) -> set[UUID]:
        """End what waits and will not be sent, each with its reason; call it in a transaction.

        Conversions are locked before adjustments, as everywhere, and then asked again: a claim may have been faster.
        """
        newest = self.waiting().newest()
        originals = Conversion.objects.filter(pk__in=newest.filter(RETRACTS_UNSENT).values("original"))
        originals.lock_in_order()
        self.unsendable().lock_in_order()
        # Conversions that were retracted before they were sent end, and their retractions are done.
        retracted = originals.filter(outcome_unknown=False).move_each("retract", is_retracted=True, **END_RETRACTED)
        retractions = newest.filter(original__in=retracted, kind=AdjustmentKind.RETRACTION)
        done: Changes = {**NO_ERROR, "next_retry_at": None, "claimed_at": None, "outcome_unknown": False}
        ended = retractions.move_each("finish_unsent", **done) if retracted else set()
        error = failure("OVERTAKEN", Category.PERMANENT, sentences.OVERTAKEN)
        ended |= self.waiting().filter(is_overtaken=True).move_each("overtake", next_retry_at=None, **error)
        for code, message in zip(WITHOUT_ORIGINAL, (sentences.NOT_UPLOADED, sentences.MAYBE_UPLOADED), strict=True):
            rows = newest.filter(LOST_ORIGINAL, original__outcome_unknown=message == sentences.MAYBE_UPLOADED)
            error = failure(code, Category.PERMANENT, message)
            ended |= rows.move_each("lose_original", next_retry_at=None, **error)
        return ended

    def revivable(self) -> Self:
        """Return what failed only because its conversion had, which was retried since and is COMPLETED now."""
        return self.newest().filter(
            status=ConversionStatus.FAILED,
            provider_error_code__in=WITHOUT_ORIGINAL,
            original__status=ConversionStatus.COMPLETED,
        )

    def revive(self) -> set[UUID]:
        return self.revivable().move_each("revive", **FREE, **FORGIVEN)


class Adjustment(Uploadable):
    """One adjustment. The newest of a conversion counts: older ones that wait are overtaken."""

    lifecycle = ADJUSTMENTS
    ERRORS = ADJUSTMENT_ENTRIES
    NOT_RETRIED = Q(is_overtaken=True, status=ConversionStatus.FAILED)
    SENT = (
        *("id", "site", "status", "kind", "original", "action", "order_id", "value", "currency", "adjusted_at"),
        *("attempt_count", "outcome_unknown", "open_batch", "send_alone", "provider_error_code"),
    )

    site = models.ForeignKey(
        Site, verbose_name=_("site"), db_index=False, on_delete=models.PROTECT, related_name="adjustments"
    )
    original = models.ForeignKey(
        Conversion, verbose_name=_("conversion"), on_delete=models.PROTECT, related_name="adjustments"
    )
    kind = models.CharField(_("kind"), max_length=11, choices=AdjustmentKind)
    value = models.DecimalField(_("new value"), max_digits=15, decimal_places=3, null=True)
    currency = models.CharField(max_length=3, blank=True)
    adjusted_at = models.DateTimeField(
        _("adjusted at"), help_text=_("Fixed at entry and later than any before: Google ignores an older one.")
    )
    source_key = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 - unique only when given
    # On the row itself, so that a retry that waited for its lock reads it again.
    is_overtaken = models.BooleanField(
        _("overtaken"), db_default=False, editable=False, help_text=_("A newer adjustment takes its place.")
    )
    open_batch = models.ForeignKey(
        UploadBatch, null=True, db_index=False, on_delete=models.PROTECT, related_name="open_adjustments"
    )

    objects = AdjustmentQuerySet.as_manager()

    class Meta(Uploadable.Meta):
        abstract = False
        verbose_name, verbose_name_plural = _("adjustment"), _("adjustments")
        triggers = [
            *lifecycle_triggers(
                ADJUSTMENTS,
                scope="site_id",
                facts=FACTS,
                empty_facts=False,
                facts_of_new=False,  # all empty
                finished=ENDED,
                fixed=[
                    *("site_id", "original_id", "kind", "action", "order_id", "value", "currency", "adjusted_at"),
                    "source_key",
                ],
                counters=Counters(raised_by={"attempt_count": "claim"}),
            ),
            *FAILURES.triggers(),
            pgtrigger.Trigger(
                name="claim_allowed",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition("NEW.status = 'PROCESSING' AND OLD.status <> 'PROCESSING'"),
                func=CLAIM_ALLOWED,
            ),
            pgtrigger.Trigger(
                name="entry_allowed", when=pgtrigger.Before, operation=pgtrigger.Insert, func=ENTRY_ALLOWED
            ),
            after_statement("record_on_original_added", pgtrigger.Insert, ADDED),
            after_statement("record_on_original_moved", pgtrigger.Update, MOVED),
        ]
        constraints = [
            *checks(
                only_restatement_has_value=Q(kind=AdjustmentKind.RETRACTION, value=None, currency="")
                | Q(kind=AdjustmentKind.RESTATEMENT, value__isnull=False, currency__regex="^[A-Z]{3}$"),
                adjustment_value_is_a_price=Q(value=None) | Q(value__gte=0, value__lt=10**12),
            ),
            *uploadable_checks("adjustment_"),
            UniqueConstraint(fields=["original"], condition=Q(status__in=IN_UPLOAD), name="one_adjustment_in_flight"),
            UniqueConstraint(
                fields=["original"], condition=Q(kind=AdjustmentKind.RETRACTION), name="one_retraction_per_conversion"
            ),
            UniqueConstraint(
                fields=["site", "source_key"],
                condition=Q(source_key__isnull=False),
                name="one_adjustment_per_source_key",
            ),
            # Google ignores a second adjustment of the same second.
            UniqueConstraint(fields=["original", "adjusted_at"], name="one_adjustment_per_time"),
        ]
        indexes = [
            *uploadable_indexes("adjustment", FAILURES),
            Index(ATTEMPTS, condition=Q(status__in=LIVE), name="adjustment_attempts"),
            prefix_index("adjustment_order_id_prefix", "order_id", before=("site",)),
            # Few wait for a conversion that failed.
            Index(
                fields=["original"],
                condition=Q(
                    status=ConversionStatus.FAILED, provider_error_code__in=WITHOUT_ORIGINAL, is_overtaken=False
                ),
                name="adjustment_revivable",
            ),
        ]

    def __str__(self) -> str:
        return f"{ADJUSTMENT_PREFIX}{self.pk}"

    @property
    def is_retraction(self) -> bool:
        return self.kind == AdjustmentKind.RETRACTION


MODELS_BY_QUEUE: Mapping[str, type[Uploadable]] = {model.lifecycle.queue: model for model in (Conversion, Adjustment)}
