"""What conversions and adjustments share: questions about rows that are uploaded, and the verbs that move them."""

import json
from collections.abc import Callable, Collection, Mapping, Sized
from datetime import timedelta
from functools import cached_property, partial
from typing import Any, Self, TypeVar
from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import (
    BooleanField,
    Case,
    CharField,
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    Field,
    OuterRef,
    Q,
    TextField,
    Value,
    When,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Coalesce, Now

from kilit.lock.attempts import ATTEMPTS, COUNTED, FORGIVEN
from kilit.lock.compiled_moves import CompiledMove, CompiledMoveOfIds, compile_take
from kilit.lock.fast_sql import NO_LOADERS, IndexHint, Loaders, fast_instances
from kilit.lock.guard import LifecycleQuerySet
from kilit.lock.text import storable
from ociqueue.models import limits
from ociqueue.models.batch import UploadBatch
from ociqueue.models.site import Site
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import MANUAL_FAIL, WAITING, Category, ConversionStatus, SyncMethod


class PerRowValues:
    """What is written to each of several rows: JSON of all of them, in which a row finds its own by its id."""

    def __init__(self, values: Mapping[UUID, Mapping[str, object]]) -> None:
        self._values, self.ids = values, list(values)

    @cached_property
    def _json(self) -> str:
        return json.dumps({str(pk): values for pk, values in self._values.items()})

    def text(self, key: str) -> Cast | Value:
        """Return a text; when it is the same for every row, it is passed once and not looked up."""
        distinct = {values[key] for values in self._values.values()}
        if len(distinct) == 1:
            return Value(distinct.pop(), output_field=CharField())
        return self._column(key, CharField())

    def is_true(self, key: str) -> Cast:
        return self._column(key, BooleanField())

    def duration(self, key: str) -> Cast:
        """Return a PostgreSQL interval, given as `90 seconds`; NULL for rows without one."""
        return self._column(key, DurationField())

    def _column(self, key: str, field: "Field[Any, Any]") -> Cast:
        return Cast(RawSQL('(%s::jsonb -> "id"::text) ->> %s', (self._json, key), TextField()), field)


OLDEST_FIRST = ("created_at", "id")
# For probes: a row that failed as a probe goes to the back, or one bad row would block its site permanently.
LEAST_TRIED_FIRST = ("attempt_count", *OLDEST_FIRST)
BATCH = 1000  # rows a sweep moves at once
# Sweeps never sort by the primary key alone: the planner would walk all finished rows along it.
BY_ATTEMPTS = ("attempt_count", "id")
Changes = dict[str, Any]

NO_ERROR: Changes = {"last_error": "", "provider_error_code": "", "provider_error_category": ""}
RELEASED: Changes = {"open_batch": None}
CLAIMED: Changes = {"claimed_at": Now(), **COUNTED}
FREE: Changes = {"claimed_at": None, "next_retry_at": None, **RELEASED}
DONE: Changes = {**NO_ERROR, **RELEASED, "uploaded_at": Now(), "outcome_unknown": False}
TAKEN: Changes = {"next_retry_at": None, "send_alone": False}
# Rows taken from a script that has not reported, or from an upload that was sent, may have reached Google.
WAS_SENT = Exists(UploadBatch.objects.filter(pk=OuterRef("open_batch"), sent_at__isnull=False))
UNREPORTED = {
    "outcome_unknown": Case(
        When(Q(status=ConversionStatus.PROCESSING, open_batch=None) | WAS_SENT, then=Value(True)),
        default=F("outcome_unknown"),
    )
}
Row = TypeVar("Row", bound=Uploadable)


def failure(code: str, category: str, message: str) -> dict[str, Any]:
    """Return the three error columns, cut to their lengths."""
    return {
        "provider_error_code": code[:64],
        "provider_error_category": category,
        "last_error": storable(message, 1000),
    }


class UploadableQuerySet(LifecycleQuerySet[Row]):
    def for_site(self, site: Site) -> Self:
        return self.filter(site=site)

    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Return rows of the user's sites, listed by id so that the indexes by site are used."""
        return self.filter(site__in=list(Site.objects.seen_by(user).values_list("pk", flat=True)))

    def retryable(self) -> Self:
        """Leave out what must not be sent again; each model says what that is."""
        return self.exclude(self.model.NOT_RETRIED)

    def waiting(self) -> Self:
        return self.filter(status__in=WAITING)

    def deferred(self) -> Self:
        """Return what has a retry time, which only rows in RETRY have, in its order."""
        return self.filter(status=ConversionStatus.RETRY, next_retry_at__isnull=False).order_by("next_retry_at")

    def due(self, *, path: SyncMethod | None = None) -> Self:
        """Return what may be claimed now: the retry time has passed and attempts are left.

        For rows of sites of one path, its cap is a constant, and no row is joined to its site.
        """
        cap = limits.max_attempts_of(path) if path else None
        return self.waiting().filter(limits.RETRY_TIME_PASSED).exclude(limits.is_over_cap(cap))

    def stuck(self, *, min_age: timedelta = limits.STUCK_AFTER) -> Self:
        """Return what was claimed too long ago: what recover would take now."""
        # The first bound adds nothing, but an index can answer it.
        rows = self.filter(status=ConversionStatus.PROCESSING, claimed_at__lt=Now() - min_age)
        return rows.filter(claimed_at__lt=Now() - limits.claim_duration(min_age))

    def over_cap(self, *, max_attempts: int | None = None, min_age: timedelta = timedelta(0)) -> Self:
        """Return live rows that used up their attempts: what the cap would take now."""
        # In two sets: for a cap of 1, the indexes for claims and recover have the rows.
        live = Q(status__in=WAITING) | Q(status=ConversionStatus.PROCESSING)
        rows = self.filter(live, limits.is_over_cap(max_attempts))
        return rows.filter(updated_at__lt=Now() - min_age) if min_age else rows

    def with_limits(self) -> Self:
        """Annotate what `due`, `stuck` and `over_cap` compare, for pages that explain a row."""
        return self.annotate(
            max_attempts=limits.attempt_cap(),
            attempts_left=limits.attempt_cap() - ATTEMPTS,
            stuck_at=ExpressionWrapper(F("claimed_at") + limits.claim_duration(), output_field=DateTimeField()),
            is_retry_due=ExpressionWrapper(limits.RETRY_TIME_PASSED, output_field=BooleanField()),
        )

    def requeueable(self) -> list[Self]:
        """Return TRANSIENT failures with attempts left, on sites of each path that want them requeued."""
        rows = self.filter(status=ConversionStatus.FAILED, provider_error_category=Category.TRANSIENT)
        wanted = rows.retryable().filter(site__requeue_transient=True, site__archived_at=None)
        # One path at a time: its cap is then a constant, and an index skips what is over it.
        return [
            wanted.filter(~limits.is_over_cap(limits.max_attempts_of(path)), site__sync_method=path)
            for path in SyncMethod
        ]

    def sent_by(self, sender: SyncMethod) -> Self:
        """Return rows of sites that use this sender and are not paused: a site has one sender at a time."""
        return self.filter(site__sync_method=sender, site__is_paused=False)

    def in_batch(self, batch: UUID | RawSQL) -> Self:
        """Return what an upload still holds; settling only these proves its claim."""
        return self.filter(open_batch=batch, status=ConversionStatus.PROCESSING)

    def received_in(self, batch: UUID | RawSQL) -> Self:
        return self.filter(open_batch=batch, status=ConversionStatus.UPLOADED)

    def claim(
        self,
        *,
        limit: int,
        batch: UUID | None = None,
        sender: SyncMethod = SyncMethod.SCRIPT,
        order: tuple[str, ...] = OLDEST_FIRST,
    ) -> list[Row]:
        """Claim due rows for an upload, or without a batch for a script."""
        columns, sites = self.model.SENT, OuterRef("site")
        claim = self.compile_claim(*columns, limit=limit, batch=batch, sender=sender, order=order, site=sites)
        with IndexHint(self.deferred()).transaction():
            return fast_instances(self.model, self.db, columns, claim.run())

    def compile_claim(
        self,
        *columns: str,
        limit: int,
        batch: UUID | RawSQL | None,
        sender: SyncMethod,
        site: RawSQL | OuterRef,
        order: tuple[str, ...] = OLDEST_FIRST,
        loaders: Loaders = NO_LOADERS,
    ) -> CompiledMove:
        """Return the statement that claims, by which alone attempts are counted.

        A site that is a parameter is asked once for all rows.
        """
        may_send = Exists(Site.objects.filter(pk=site, sync_method=sender, is_paused=False))
        due = self.due(path=sender).filter(may_send)
        claimed = {**CLAIMED, "open_batch": batch}
        return compile_take(due, "claim", *columns, limit=limit, order=order, loaders=loaders, **claimed)

    def put_off(self, values: PerRowValues, *, verb: str = "defer", alone: bool = False) -> Collection[UUID]:
        """Retry after the provider's delay, or a doubling backoff, or at once if the row is not at fault."""
        wait = limits.BACKOFF.spread(Coalesce(values.duration("wait"), limits.BACKOFF.wait()))
        forgiven = F("attempts_forgiven") + Case(When(values.is_true("forgiven"), then=1), default=0)
        again: Changes = {"claimed_at": None, "next_retry_at": Now() + wait, "attempts_forgiven": forgiven}
        return self.settle(verb, values, **again, **({"send_alone": True} if alone else {}))

    def settle(self, verb: str, values: PerRowValues, /, **changes: object) -> Collection[UUID]:
        """Move rows with the errors that an answer gave them."""
        if not values.ids:
            return ()
        errors: Changes = {name: values.text(name) for name in (*NO_ERROR, "provider_request_id")}
        errors["outcome_unknown"] = values.is_true("outcome_unknown")
        return CompiledMoveOfIds(self, verb, **RELEASED, **errors, **changes).run(values.ids)

    def retry_selected(self) -> set[UUID]:
        """Queue again, keeping the error for reference."""
        return self.retryable().move_each("retry_selected", **FREE, **FORGIVEN)

    def reset_to_queued(self, *, clear_errors: bool = False) -> set[UUID]:
        """Queue again from any state but COMPLETED, optionally clearing the error."""
        return self.take_back("reset_to_queued", **FREE, **FORGIVEN, **(NO_ERROR if clear_errors else {}))

    def mark_failed(
        self, *, code: str = MANUAL_FAIL, category: str = Category.PERMANENT, reason: str = "MANUALLY_MARKED_FAILED"
    ) -> set[UUID]:
        return self.take_back("mark_failed", next_retry_at=None, **RELEASED, **failure(code, category, reason))

    def recover(self, *, min_age: timedelta = limits.STUCK_AFTER) -> int:
        """Take rows back from a script or worker that never reported."""
        stuck = self.stuck(min_age=min_age)
        return sweep(partial(stuck.take_back, "recover", limit=BATCH, order=("claimed_at", "id"), **FREE))

    def cap(self, *, max_attempts: int | None = None, min_age: timedelta = timedelta(0)) -> int:
        """Fail rows that used up their attempts; without a number, each path has its own cap."""
        error = failure("MAX_ATTEMPTS", Category.PERMANENT, "MAX_ATTEMPTS_EXCEEDED")
        rows = self.over_cap(max_attempts=max_attempts, min_age=min_age)
        ended = {"next_retry_at": None, **RELEASED, **error}
        return sweep(partial(rows.take_back, "cap", limit=BATCH, order=BY_ATTEMPTS, **ended))

    def requeue_transient(self) -> int:
        """Retry TRANSIENT failures on sites that ask for it, with backoff."""
        later: Changes = {"claimed_at": None, "next_retry_at": Now() + limits.BACKOFF.wait()}
        how: Changes = {"limit": BATCH, "order": BY_ATTEMPTS, **later}
        return sum(sweep(partial(rows.take, "requeue_transient", **how)) for rows in self.requeueable())

    def take_back(
        self, verb: str, /, *, limit: int | None = None, order: tuple[str, ...] = ("id",), **changes: object
    ) -> set[UUID]:
        """Move rows that a script or an upload may hold, recording for each whether it may have been sent.

        The rows are locked first, then the uploads that hold them, so that no upload is marked as sent in between.
        With a limit, rows locked by others are skipped.
        """
        with transaction.atomic(using=self.db):
            movable = self.retryable().filter(status__in=self.model.lifecycle.moves[verb].sources).order_by(*order)
            locked_rows = movable.select_for_update(skip_locked=limit is not None, of=("self",))
            held = dict(locked_rows.values_list("pk", "open_batch")[:limit])
            UploadBatch.objects.lock(set(held.values()) - {None})
            rows: UploadableQuerySet[Row] = self.model._default_manager.filter(pk__any_of=held)  # type: ignore[assignment]
            return rows.move_each(verb, **changes, **UNREPORTED) if held else set()


def rows_of(model: type[Uploadable]) -> UploadableQuerySet[Any]:
    rows: UploadableQuerySet[Any] = model._default_manager.all()  # type: ignore[assignment]
    return rows


def sweep(take_some: Callable[[], Sized]) -> int:
    """Repeat until nothing is left, in batches that skip locked rows: no claim waits for a sweep."""
    total = 0
    while moved := len(take_some()):
        total += moved
    return total
