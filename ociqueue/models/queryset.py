"""The queryset of conversions: what only they have, as a script may take them too."""

from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.db.models import Q

from ociqueue.models.sending import CLAIMED, NO_ERROR, OLDEST_FIRST, RELEASED, UploadableQuerySet, failure
from ociqueue.states import ENDED, Category, ConversionStatus, SyncMethod

if TYPE_CHECKING:
    from ociqueue.models.conversion import Conversion  # noqa: F401 - the type of its rows

NOT_ENDED = tuple(state for state in ConversionStatus if state not in ENDED)


class ConversionQuerySet(UploadableQuerySet["Conversion"]):
    def not_replaced(self) -> Self:
        return self.filter(is_replaced=False)

    def erasable(self) -> Self:
        """Return rows that have ended, with all their adjustments, and still have what identifies a person."""
        return self.filter(status__in=ENDED, erased_at=None).exclude(adjustments__status__in=NOT_ENDED)

    def due(self) -> Self:
        """Leave out what was retracted and Google cannot have: it ends here, with its retraction."""
        return super().due().filter(Q(is_retracted=False) | Q(outcome_unknown=True))

    def with_script(self) -> Self:
        """Return what a script may settle: nothing that an upload has claimed."""
        return self.filter(open_batch=None)

    def claim_values(self, *columns: str, limit: int) -> list[tuple[Any, ...]]:
        """Claim for a script, returning a few columns of each row instead of instances."""
        claimed = {**CLAIMED, **RELEASED}
        due = self.due().sent_by(SyncMethod.SCRIPT)
        return due.take_values("claim", *columns, limit=limit, order=OLDEST_FIRST, **claimed)

    def ack(self) -> set[UUID]:
        """Complete what the script uploaded; only the API path learns when Google took it."""
        return self.with_script().move_each("ack", **NO_ERROR, outcome_unknown=False)

    def ack_failed(self, *, code: str, category: str, message: str) -> set[UUID]:
        """Fail what the script could not upload; the claim has already counted the attempt."""
        # An upload that threw may have succeeded all the same; what the script found invalid was never sent.
        in_doubt = {"outcome_unknown": True} if category == Category.TRANSIENT else {}
        return self.with_script().move_each("ack_failed", **failure(code, category, message), **in_doubt)
