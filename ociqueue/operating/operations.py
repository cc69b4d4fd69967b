"""What operators do with conversions and adjustments, in bulk or one by one, on rows of the sites they operate."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, Value, When
from django.utils.translation import gettext_noop

from kilit.batches.operations import BatchOperation
from ociqueue.models import Adjustment, Conversion, Site
from ociqueue.models.limits import IS_TOO_OLD, is_withheld
from ociqueue.models.sending import UploadableQuerySet
from ociqueue.states import ADJUSTMENTS, CONVERSIONS, ConversionStatus

REPLACED = gettext_noop("replaced by a corrected copy")
ERASED = gettext_noop("erased")
RETRACTED = gettext_noop("retracted")
TOO_OLD = gettext_noop("more than 90 days old")
CONSENT_DENIED = gettext_noop("consent was denied")
OVERTAKEN = gettext_noop("overtaken by a newer adjustment")
NOTHING_TO_ADJUST = gettext_noop("its conversion failed")
Rows = UploadableQuerySet[Any]


class UploadableOperation(BatchOperation):
    """Calls the queryset's verb of the same name; it locks rows by id, so operators wait and never deadlock."""

    scope = "site_id"
    out_of_reach = gettext_noop("not of a site you run")

    def within_reach(self, rows: Rows, user: User | AnonymousUser) -> Rows:
        # Sites are listed by id, so that the indexes by site are used.
        return rows.filter(site__in=list(Site.objects.run_by(user).values_list("pk", flat=True)))

    def move(self, rows: Rows, options: Mapping[str, Any]) -> set[UUID]:
        moved: set[UUID] = getattr(rows.filter(status__in=self.sources), self.verb)(**options)
        return moved


class ConversionOperation(UploadableOperation):
    table = CONVERSIONS
    model = Conversion

    def skipped(self) -> list[When]:
        return [
            When(is_replaced=True, then=Value(REPLACED)),
            When(erased_at__isnull=False, then=Value(ERASED)),
            When(is_retracted=True, status=ConversionStatus.FAILED, then=Value(RETRACTED)),
            When(IS_TOO_OLD & Q(status=ConversionStatus.FAILED), then=Value(TOO_OLD)),
            When(is_withheld() & Q(status=ConversionStatus.FAILED), then=Value(CONSENT_DENIED)),
        ]


class AdjustmentOperation(UploadableOperation):
    table = ADJUSTMENTS
    model = Adjustment

    def skipped(self) -> list[When]:
        # A row that waits for either ends by itself.
        return [
            When(is_overtaken=True, status=ConversionStatus.FAILED, then=Value(OVERTAKEN)),
            When(
                original__status=ConversionStatus.FAILED,
                status=ConversionStatus.FAILED,
                then=Value(NOTHING_TO_ADJUST),
            ),
        ]

    def move(self, rows: Rows, options: Mapping[str, Any]) -> set[UUID]:
        failed = ConversionStatus.FAILED
        return super().move(rows.exclude(status=failed, original__status=failed), options)


RETRY = ConversionOperation("retry", "retry_selected")
RESET = ConversionOperation("reset", "reset_to_queued")
MARK_FAILED = ConversionOperation("mark_failed", "mark_failed")
RETRY_ADJUSTMENT = AdjustmentOperation("retry", "retry_selected")
RESET_ADJUSTMENT = AdjustmentOperation("reset", "reset_to_queued")
MARK_ADJUSTMENT_FAILED = AdjustmentOperation("mark_failed", "mark_failed")
