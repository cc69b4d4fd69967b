"""Questions about conversions, and their verbs in bulk."""

from collections.abc import Callable, Sized
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Case, DurationField, Exists, ExpressionWrapper, F, OuterRef, Q, Value, When
from django.db.models.functions import Least, Now, Power, Random
from django.db.models.lookups import GreaterThanOrEqual, LessThan

from kilit.lock.guard import LifecycleQuerySet
from ociqueue.models.batch import UploadBatch
from ociqueue.models.per_row import PerRowValues
from ociqueue.models.site import Site
from ociqueue.states import LIVE, WAITING, Category, Status, SyncMethod

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser, User

    from ociqueue.models.conversion import Conversion

OLDEST_FIRST = ("created_at", "id")
# A probe's: a row that failed as a probe steps behind the others, or a bad one would hold its site back for ever.
LEAST_TRIED_FIRST = ("attempt_count", *OLDEST_FIRST)
BATCH = 1000  # rows a sweep moves at once
# A sweep's order is never that of the primary key: the planner would walk all finished rows along it.
BY_ATTEMPTS = ("attempt_count", "id")
STUCK_AFTER = timedelta(minutes=15)
# A script may run for half an hour: what it holds when its site moves to the API stays with it until it is surely dead.
SCRIPT_DEAD_AFTER = timedelta(minutes=45)
FIRST_BACKOFF = timedelta(minutes=5)
LONGEST_BACKOFF = timedelta(hours=24)

Changes = dict[str, Any]

ATTEMPTS = F("attempt_count") - F("attempts_forgiven")
NO_ERROR: Changes = {"last_error": "", "provider_error_code": "", "provider_error_category": ""}
RELEASED: Changes = {"open_batch": None}
# What a provider is told of a row, and what settling it needs to know; the rest is read when somebody asks.
SENT = (
    *(
        "id",
        "site",
        "status",
        "action",
        "gclid",
        "wbraid",
        "gbraid",
        "conversion_time",
        "value",
        "currency",
        "order_id",
    ),
    *("consent", "attempt_count", "outcome_unknown", "open_batch"),
)
CLAIMED: Changes = {"claimed_at": Now(), "attempt_count": F("attempt_count") + 1}
FREE: Changes = {"claimed_at": None, "next_retry_at": None, **RELEASED}
# The counter never goes down: an operator's retry forgives what was tried, and the cap compares the difference.
FORGIVEN: Changes = {"attempts_forgiven": F("attempt_count")}
# Taken from whoever may have sent it: a script that has not reported, or an upload that went out.
WENT_OUT = Exists(UploadBatch.objects.filter(pk=OuterRef("open_batch"), sent_at__isnull=False))
UNREPORTED = {
    "outcome_unknown": Case(
        When(Q(status=Status.PROCESSING, open_batch=None) | WENT_OUT, then=Value(True)),  # noqa: FBT003
        default=F("outcome_unknown"),
    )
}
# 5 minutes, 10, 20, … for the first attempt, the second, the third.
DOUBLINGS = Least(
    ATTEMPTS - Value(1), Value(10)
)  # more would pass the longest wait, and in the end what PostgreSQL holds
BACKOFF = Least(
    ExpressionWrapper(Value(FIRST_BACKOFF) * Power(Value(2.0), DOUBLINGS), output_field=DurationField()),
    Value(LONGEST_BACKOFF),
    output_field=DurationField(),
)
JITTER = 0.1  # of the wait, so that rows that failed together do not all come back together


def failure(code: str, category: str, message: str) -> dict[str, Any]:
    """Return the three error columns, cut to what they hold."""
    return {
        "provider_error_code": code[:64],
        "provider_error_category": category,
        "last_error": message[:1000],
    }


def max_attempts_of(path: SyncMethod) -> int:
    """Return how often a row of a path is claimed before it fails for good."""
    return settings.API_MAX_ATTEMPTS if path == SyncMethod.API else settings.SCRIPT_MAX_ATTEMPTS


class ConversionQuerySet(LifecycleQuerySet["Conversion"]):
    """Questions about conversions, and their verbs in bulk."""

    def for_site(self, site: Site) -> Self:
        return self.filter(site=site)

    def visible_to(self, user: "User | AnonymousUser") -> Self:
        """Return rows of the user's sites, named one by one, so that the indexes by site serve every list."""
        return self.filter(site__in=list(Site.objects.seen_by(user).values_list("pk", flat=True)))

    def waiting(self) -> Self:
        return self.filter(status__in=WAITING)

    def due(self) -> Self:
        """Return what may be claimed now: its retry time has come and its attempts are not used up."""
        return self.waiting().filter(Q(next_retry_at=None) | Q(next_retry_at__lte=Now())).exclude(self.is_spent())

    def stuck(self, *, min_age: timedelta = STUCK_AFTER) -> Self:
        """Return what was claimed too long ago: what recover would take now."""
        with_a_script = Q(open_batch=None, site__sync_method=SyncMethod.API)
        may_live = Q(claimed_at__gte=Now() - SCRIPT_DEAD_AFTER)
        return self.filter(status=Status.PROCESSING, claimed_at__lt=Now() - min_age).exclude(with_a_script & may_live)

    def spent(self, *, max_attempts: int | None = None, min_age: timedelta = timedelta(0)) -> Self:
        """Return live rows whose attempts are used up: what the cap would take now."""
        rows = self.filter(self.is_spent(max_attempts), status__in=LIVE)
        return rows.filter(updated_at__lt=Now() - min_age) if min_age else rows

    def passing_failures(self, path: SyncMethod) -> Self:
        """Return what failed for a passing reason, with attempts left, on sites of a path that want it tried again."""
        rows = self.filter(status=Status.FAILED, provider_error_category=Category.TRANSIENT)
        # One path at a time: its cap is then a number, and an index leaves out what is spent.
        left = LessThan(ATTEMPTS, Value(max_attempts_of(path)))
        return rows.filter(Q(left), site__requeue_transient=True, site__sync_method=path)

    def sent_by(self, sender: SyncMethod) -> Self:
        """Return rows of sites that this sender sends, and that are not paused: a site has one sender at a time."""
        return self.filter(site__sync_method=sender, site__is_paused=False)

    def with_script(self) -> Self:
        """Return what a script may settle: nothing that an upload holds."""
        return self.filter(open_batch=None)

    def in_batch(self, batch: UUID) -> Self:
        """Return what an upload still holds: the uploader's proof of its claim."""
        return self.filter(open_batch=batch, status=Status.PROCESSING)

    def claim(
        self, *, limit: int, batch: UUID | None = None, order: tuple[str, ...] = OLDEST_FIRST
    ) -> list["Conversion"]:
        """Hand out due rows, the oldest first unless told otherwise, to an upload or else to a script.

        One statement claims, and nothing else counts an attempt.
        """
        claimed = {**CLAIMED, "open_batch": batch}
        return self._due_by(batch).take("claim", limit=limit, order=order, only=SENT, **claimed)

    def hand_out(self, *columns: str, limit: int) -> list[tuple[Any, ...]]:
        """Claim for a script, which is told a few columns of each row."""
        claimed = {**CLAIMED, **RELEASED}
        return self._due_by(None).take_values("claim", *columns, limit=limit, order=OLDEST_FIRST, **claimed)

    def _due_by(self, batch: UUID | None) -> Self:
        return self.due().sent_by(SyncMethod.API if batch else SyncMethod.SCRIPT)

    def ack(self) -> set[UUID]:
        """Complete what the script says it uploaded; when Google took it only the API path can know."""
        return self.with_script().move_each("ack", **NO_ERROR, outcome_unknown=False)

    def ack_failed(self, *, code: str, category: str, message: str) -> set[UUID]:
        """Fail what the script could not upload; the claim has counted the attempt already."""
        # An upload that threw may have gone through all the same; what the script found wrong was never sent.
        in_doubt = {"outcome_unknown": True} if category == Category.TRANSIENT else {}
        return self.with_script().move_each("ack_failed", **failure(code, category, message), **in_doubt)

    def accept(self, told: "PerRowValues") -> set[UUID]:
        """Complete what the provider says it has."""
        return told.rows_of(self).move_each(
            "ack",
            **NO_ERROR,
            **RELEASED,
            uploaded_at=Now(),
            outcome_unknown=False,
            provider_request_id=told.text("request_id"),
        )

    def refuse(self, told: "PerRowValues") -> set[UUID]:
        """Fail what the provider refuses, each row with an error of its own."""
        return told.rows_of(self).move_each("ack_failed", **RELEASED, **self._answer(told))

    def put_off(self, told: "PerRowValues") -> set[UUID]:
        """Try again: when the provider says, or after a doubling backoff, or at once if the row is not at fault."""
        wait = Case(
            When(told.has("wait"), then=told.span("wait")),
            default=BACKOFF,
            output_field=DurationField(),
        )
        spread = ExpressionWrapper(wait * (Value(1.0) + Value(JITTER) * Random()), output_field=DurationField())
        return told.rows_of(self).move_each(
            "defer",
            **RELEASED,
            **self._answer(told),
            claimed_at=None,
            next_retry_at=Now() + spread,
            attempts_forgiven=F("attempts_forgiven") + Case(When(told.is_true("unharmed"), then=1), default=0),
        )

    @staticmethod
    def _answer(told: "PerRowValues") -> dict[str, Any]:
        return {
            "provider_error_code": told.text("code"),
            "provider_error_category": told.text("category"),
            "last_error": told.text("message"),
            "provider_request_id": told.text("request_id"),
            "outcome_unknown": told.is_true("unknown"),
        }

    def retry_selected(self) -> set[UUID]:
        """Queue again, keeping the error for whoever looks into it."""
        return self.move_each("retry_selected", **FREE, **FORGIVEN)

    def reset_to_queued(self, *, clear_errors: bool = False) -> set[UUID]:
        """Queue again from any state but COMPLETED, forgetting the error when told to."""
        return self.take_back("reset_to_queued", **FREE, **FORGIVEN, **(NO_ERROR if clear_errors else {}))

    def mark_failed(
        self,
        *,
        code: str = "MANUAL_FAIL",
        category: str = Category.PERMANENT,
        reason: str = "MANUALLY_MARKED_FAILED",
    ) -> set[UUID]:
        return self.take_back("mark_failed", next_retry_at=None, **RELEASED, **failure(code, category, reason))

    def recover(self, *, min_age: timedelta = STUCK_AFTER) -> int:
        """Bring back what a dead script or worker left behind."""
        stuck = self.stuck(min_age=min_age)
        return _sweep(partial(stuck.take_back, "recover", limit=BATCH, order=("claimed_at", "id"), **FREE))

    def cap(self, *, max_attempts: int | None = None, min_age: timedelta = timedelta(0)) -> int:
        """End what can never succeed; without a number, each path has its own."""
        error = failure("MAX_ATTEMPTS", Category.PERMANENT, "MAX_ATTEMPTS_EXCEEDED")
        rows = self.spent(max_attempts=max_attempts, min_age=min_age)
        ended = {"next_retry_at": None, **RELEASED, **error}
        return _sweep(partial(rows.take_back, "cap", limit=BATCH, order=BY_ATTEMPTS, **ended))

    def requeue_transient(self) -> int:
        """Try again what failed for a passing reason, on sites that want it, later each time."""
        later: Changes = {"claimed_at": None, "next_retry_at": Now() + BACKOFF}
        total = 0
        for path in SyncMethod:
            take = self.passing_failures(path).take
            total += _sweep(partial(take, "requeue_transient", limit=BATCH, order=BY_ATTEMPTS, **later))
        return total

    def take_back(
        self, verb: str, /, *, limit: int | None = None, order: tuple[str, ...] = ("id",), **changes: Any
    ) -> set[UUID]:
        """Move rows that somebody may hold, and remember of each whether it may have gone out.

        These rows are locked, then the uploads that hold them: what one of those says of itself stays true from then
        on. With a limit, rows that others are moving are left to them.
        """
        with transaction.atomic(using=self.db):
            apt = self.filter(status__in=self.model.lifecycle.moves[verb].sources).order_by(*order)
            locked = apt.select_for_update(skip_locked=limit is not None, of=("self",))
            held = dict(locked.values_list("pk", "open_batch")[:limit])
            UploadBatch.objects.keep(set(held.values()) - {None})
            rows = self.model._default_manager.filter(pk__any_of=held)
            return rows.move_each(verb, **changes, **UNREPORTED) if held else set()

    @staticmethod
    def is_spent(max_attempts: int | None = None) -> Q:
        """Return the question whether a row's attempts are used up."""
        if max_attempts is not None:
            return Q(GreaterThanOrEqual(ATTEMPTS, Value(max_attempts)))
        # Per path, because the API tells more about a failure than the script can.
        script, api = max_attempts_of(SyncMethod.SCRIPT), max_attempts_of(SyncMethod.API)
        cap = Case(When(site__sync_method=SyncMethod.API, then=Value(api)), default=Value(script))
        # The lower bound says nothing new, but an index can answer it.
        lower_bound = GreaterThanOrEqual(ATTEMPTS, Value(min(script, api)))
        return Q(lower_bound) & Q(GreaterThanOrEqual(ATTEMPTS, cap))


def _sweep(take_some: Callable[[], Sized]) -> int:
    """Go on until nothing is left, in batches that skip what others hold: no claim waits for a sweep."""
    total = 0
    while moved := len(take_some()):
        total += moved
    return total
