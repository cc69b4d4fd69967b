"""The queryset of conversions: what only they have, as a script may take them too."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Self
from uuid import UUID

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q
from django.db.models.expressions import RawSQL

from kilit.lock.fast_sql import Parameter
from ociqueue.models import unsendable
from ociqueue.models.sending import (
    BATCH,
    NO_ERROR,
    OLDEST_FIRST,
    Changes,
    UploadableQuerySet,
    failure,
    sweep,
)
from ociqueue.models.site import Site
from ociqueue.states import ENDED, EXPIRED, WITHHELD, Category, ConversionStatus, SyncMethod

if TYPE_CHECKING:
    from ociqueue.models.conversion import Conversion  # noqa: F401 - the type of its rows

ACKED: Changes = {**NO_ERROR, "outcome_unknown": False}
UNHELD: Changes = {"next_retry_at": None, "claimed_at": None}
RETRACTED = failure("RETRACTED_BEFORE_UPLOAD", Category.PERMANENT, "It was retracted before it was sent.")
END_RETRACTED: Changes = {**UNHELD, **RETRACTED}
END_WITHHELD: Changes = {**UNHELD, **failure(WITHHELD, Category.PERMANENT, unsendable.WITHHELD_MESSAGE)}
END_EXPIRED: Changes = {**UNHELD, **failure(EXPIRED, Category.PERMANENT, unsendable.EXPIRED_MESSAGE)}
NOT_ENDED = tuple(state for state in ConversionStatus if state not in ENDED)


class ConversionQuerySet(UploadableQuerySet["Conversion"]):
    def not_replaced(self) -> Self:
        return self.filter(is_replaced=False)

    def erasable(self) -> Self:
        """Return rows that have ended, with all their adjustments, and still have what identifies a person."""
        return self.filter(status__in=ENDED, erased_at=None).exclude(adjustments__status__in=NOT_ENDED)

    def due(self, *, path: SyncMethod | None = None) -> Self:
        """Leave out what ends here: retracted and unknown to Google, withheld, or too old."""
        rows = super().due(path=path).filter(Q(is_retracted=False) | Q(outcome_unknown=True))
        return rows.filter(~unsendable.IS_TOO_OLD, ~unsendable.is_withheld())

    def retryable(self) -> Self:
        """Leave out failures that would only be withheld again."""
        return super().retryable().exclude(Q(status=ConversionStatus.FAILED) & unsendable.is_withheld())

    def with_limits(self) -> Self:
        return (
            super()
            .with_limits()
            .annotate(
                is_too_old=ExpressionWrapper(unsendable.IS_TOO_OLD, output_field=BooleanField()),
                is_withheld=ExpressionWrapper(unsendable.is_withheld(), output_field=BooleanField()),
            )
        )

    def withheld(self) -> Self:
        """Return what waits, and is not sent because consent was denied: what `withhold` would end now."""
        return self.waiting().filter(unsendable.is_withheld())

    def expired(self) -> Self:
        """Return what waits, and is too old for Google: what `expire` would end now."""
        return self.waiting().filter(unsendable.IS_TOO_OLD)

    def retracted(self) -> Self:
        """Return what waits, was retracted and cannot be at Google, and has no retraction that would end it.

        Its retraction was marked as failed while an upload had claimed the conversion, or while its outcome was
        unknown. The upload then did not take place, or Google deferred it.
        """
        rows = self.waiting().filter(is_retracted=True, outcome_unknown=False)
        return rows.exclude(adjustments__status__in=NOT_ENDED)

    def sweep_retracted(self) -> int:
        return self._sweep_sites(self.retracted(), "retract", END_RETRACTED)

    def withhold(self) -> set[UUID]:
        """End these rows, as far as they are withheld; for few rows, in the transaction that stores them."""
        return self.withheld().move_each("withhold", **END_WITHHELD)

    def sweep_withheld(self) -> int:
        return self._sweep_sites(self.withheld(), "withhold", END_WITHHELD)

    def expire(self) -> int:
        """End what is too old for Google.

        As two sets, each of which an index has: an index of all that wait by their time would be one more to be
        written for each row, and the planner might find a site's due rows by it, and sort all of them.
        """
        late = self.expired().filter(unsendable.CAME_LATE)
        by_time = ("conversion_time", "id")
        ended = sweep(partial(late.take, "expire", limit=BATCH, order=by_time, only=("id",), **END_EXPIRED))
        return ended + self._sweep_sites(self.expired().filter(unsendable.CAME_LONG_AGO), "expire", END_EXPIRED)

    @staticmethod
    def _sweep_sites(rows: "ConversionQuerySet", verb: str, ended: Changes) -> int:
        """Move rows of one site after the other, as the indexes of rows that wait have them."""
        total = 0
        for site in Site.objects.filter(Exists(rows.filter(site=OuterRef("pk")))):
            mine = rows.for_site(site)
            total += sweep(partial(mine.take, verb, limit=BATCH, order=OLDEST_FIRST, only=("id",), **ended))
        return total

    def with_script(self) -> Self:
        """Return what a script may settle: nothing that an upload has claimed."""
        return self.filter(open_batch=None)

    def under_claims(self, claims: Mapping[UUID, int]) -> Self:
        """Leave out rows that a newer claim holds; rows without a claim here are as good as held.

        Each claim counts an attempt, so the count is the number of the claim.
        """
        numbers = set(claims.values())
        if not numbers:
            return self
        if len(numbers) == 1:  # as mostly: the first claim of all rows
            return self.under_claim(numbers.pop(), of=claims)
        pairs = "SELECT * FROM unnest(%s::uuid[], %s::integer[])"
        row = "(offline_conversion_queue.id, offline_conversion_queue.attempt_count)"
        numbered = [list(claims), list(claims.values())]
        is_held = Q(RawSQL(f"{row} IN ({pairs})", numbered, BooleanField()))
        return self.filter(is_held | ~Q(pk__any_of=claims))

    def under_claim(self, number: int | RawSQL, *, of: Collection[UUID] | Parameter) -> Self:
        return self.filter(Q(attempt_count=number) | ~Q(pk__any_of=of))

    def ack(self) -> set[UUID]:
        """Complete what the script uploaded; only the API path learns when Google took it."""
        return self.with_script().move_each("ack", **ACKED)

    def ack_failed(self, *, code: str, category: str, message: str) -> set[UUID]:
        """Fail what the script could not upload; the claim has already counted the attempt."""
        # An upload that threw may have succeeded all the same; what the script found invalid was never sent.
        in_doubt = {"outcome_unknown": True} if category == Category.TRANSIENT else {}
        return self.with_script().move_each("ack_failed", **failure(code, category, message), **in_doubt)
