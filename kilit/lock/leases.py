"""Leases: a worker holds a row for a while, proves it by its token, and loses it when the time is over.

Two kinds of job use them.

- `LeasedModel`: the claim is a move (QUEUED → RUNNING), made by `take("claim", …, **new_lease(LENGTH))`. The state ends
  with the lease, and a sweep moves `lapsed()` rows back.
- `LongJobModel`: the job passes several states under one claim, so the lease itself is the guard. It is claimed by
  `lease_next()`, kept by `renew()`, given back by `release()`, and leases that ran out are counted.

The time is the database's throughout.
"""

from datetime import timedelta
from typing import Any, ClassVar, Self, TypeVar
from uuid import uuid4

from django.db import models, transaction
from django.db.models import Case, CheckConstraint, F, Q, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.fast_sql import PickAndUpdate, fast_instance
from kilit.lock.guard import LifecycleModel, LifecycleQuerySet
from kilit.lock.table import Kind, Lifecycle

Row = TypeVar("Row", bound="LeasedModel")
LongJob = TypeVar("LongJob", bound="LongJobModel")

# A job that takes down every worker that holds it must end too.
MOST_LAPSES = 5


class ClaimLost(Exception):
    """The lease ran out, and the row belongs to no one or to another worker by now."""


def new_lease(length: timedelta | Combinable) -> dict[str, Any]:
    return {"claim_token": uuid4(), "lease_until": Now() + length}


def no_lease() -> dict[str, Any]:
    return {"claim_token": None, "lease_until": None}


def lease_check(table: Lifecycle) -> CheckConstraint:
    """Return that a row has a claim and a lease while it is held, and only then."""
    (held,) = table.of_kind(Kind.HELD)
    is_held = Q(status=held, claim_token__isnull=False, lease_until__isnull=False)
    is_free = ~Q(status=held) & Q(claim_token=None, lease_until=None)
    return CheckConstraint(condition=is_held | is_free, name=f"{held.lower()}_{table.queue}_is_held")


class LeasedQuerySet(LifecycleQuerySet[Row]):
    def held_by(self, *claimed: Row) -> Self:
        """Return the rows that one claim took, as far as it still holds them."""
        ids, token = [row.pk for row in claimed], claimed[0].claim_token
        # An instance without a token proves nothing: NULL must not match a row that no one holds.
        return self.filter(pk__any_of=ids, claim_token=token, claim_token__isnull=False)

    def settle(self, verb: str, /, **changes: object) -> int:
        """End the claim on these rows; name them by `held_by`."""
        return self.move(verb, **changes, **no_lease())

    def lapsed(self) -> Self:
        return self.filter(lease_until__lt=Now())


class LeasedModel(LifecycleModel):
    claim_token = models.UUIDField(null=True, editable=False)
    lease_until = models.DateTimeField(_("lease until"), null=True, editable=False)

    class Meta(LifecycleModel.Meta):
        abstract = True

    def move_held(self, verb: str, /, **changes: object) -> Self:
        """Move this row under its claim; raise MoveRefused if another worker holds it by now."""
        return self.move(verb, where={"claim_token": self.claim_token, "claim_token__isnull": False}, **changes)


class LongJobQuerySet(LeasedQuerySet[LongJob]):
    def free(self) -> Self:
        return self.filter(Q(lease_until=None) | Q(lease_until__lt=Now()))

    def lease_next(self, *, order: tuple[Any, ...], **changes: object) -> LongJob | None:
        """Claim the first free row by `order`, skipping rows that another transaction has locked.

        The state stays as it is. Taking over a lease that ran out counts as a lapse.
        """
        free = self.free().order_by(*order).select_for_update(skip_locked=True, of=("self",))
        lapses = Case(When(claim_token=None, then=F("lapse_count")), default=F("lapse_count") + 1)
        columns = {"lapse_count": lapses, **new_lease(self.model.lease_length), **changes}
        fields = self.model._meta.concrete_fields
        with transaction.atomic(using=self.db):
            rows = PickAndUpdate(free, columns, returning=fields, limit=1).run()
        names = [field.attname for field in fields]
        return fast_instance(self.model, self.db, names, rows[0]) if rows else None

    def release_lapsed(self, **changes: object) -> int:
        """Take rows from workers that are gone, and count the lapse."""
        return self.lapsed().update(lapse_count=F("lapse_count") + 1, **no_lease(), **changes)

    def lapsed_too_often(self) -> Self:
        """Return lapsed rows whose last `MOST_LAPSES` workers are gone, this one included."""
        return self.lapsed().filter(lapse_count__gte=MOST_LAPSES - 1)


class LongJobModel(LeasedModel):
    """A row that a worker holds through several states, renewing its lease."""

    lease_length: ClassVar[timedelta]

    lapse_count = models.PositiveSmallIntegerField(default=0, help_text="Leases that ran out since it last progressed.")

    class Meta(LeasedModel.Meta):
        abstract = True

    def renew(self, *, length: timedelta | None = None, **changes: object) -> None:
        """Keep the claim for another lease and write `changes` under it; raise ClaimLost if it is no longer ours."""
        if not self._held().update(lease_until=Now() + (length or self.lease_length), **changes):
            raise ClaimLost(f"{self} is no longer held by this worker")

    def release(self, **changes: object) -> bool:
        """Give the row back, so that another worker may claim it; return whether it was still ours."""
        return bool(self._held().update(**no_lease(), **changes))

    def _held(self) -> LongJobQuerySet[Any]:
        rows: LongJobQuerySet[Any] = type(self)._default_manager.all()  # type: ignore[assignment]
        return rows.held_by(self)
