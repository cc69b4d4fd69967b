"""What each upload runs, compiled once: claim a site's conversions, settle rows that were all answered alike, and more.

The rules are those of the querysets; kilit.lock.fast_sql says why they are compiled, and what their parameters are.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache
from typing import TypeVar, cast
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import CharField, Exists, UUIDField
from django.db.models.functions import Now

from kilit.lock.fast_sql import (
    CompiledUpdate,
    CompiledValues,
    IndexHint,
    Parameter,
    fast_instances,
    parameter,
    uuid_array,
)
from kilit.lock.guard import CompiledMove, CompiledMoveOfIds
from ociqueue.models.adjustment import Adjustment
from ociqueue.models.batch import UploadBatch
from ociqueue.models.conversion import Conversion
from ociqueue.models.limits import max_attempts_of
from ociqueue.models.per_row import PerRowValues
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.models.sending import CLAIMED, DONE, OLDEST_FIRST, TAKEN, rows_of
from ociqueue.models.site import Site
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import SyncMethod

Row = TypeVar("Row", bound=Uploadable)
SITE = parameter("site", UUIDField())
BATCH = parameter("batch", UUIDField())
REQUEST_ID = {"provider_request_id": parameter("request_id", CharField())}


def claim_conversions(
    site: Site, *, batch: UUID, sender: SyncMethod, limit: int, alone: bool | None = None
) -> list[Conversion]:
    """Claim a site's oldest rows if it still has this sender: all, only those that go alone, or only the others."""
    with _due_hint(alone).transaction(site=site.pk):
        rows = _claim(sender, limit, alone, max_attempts_of(sender)).run(site=site.pk, batch=batch)
    return fast_instances(Conversion, Conversion.objects.db, Conversion.SENT, rows)


def mark_rows_sent(batch: UUID, rows: Sequence[Row]) -> list[Row]:
    """Record that those of these rows that the upload still holds are being sent; return them.

    These are none if it was marked before. Lock the upload first: the statement must see what others took back.
    """
    ((count, held),) = _mark_sent(type(rows[0])).run(batch=batch, expected=len(rows)) or [(0, ())]
    if count == len(rows):
        return list(rows)
    ids = set(held)
    return [row for row in rows if row.id in ids]


def find_rows(model: type[Row], columns: tuple[str, ...], ids: Iterable[UUID]) -> list[Row]:
    """Return the rows with these ids, as far as there are any; other columns are deferred."""
    rows = _values(model, columns).run(ids=uuid_array(ids))
    return fast_instances(model, rows_of(model).db, columns, rows)


def kinds_of_due_adjustments(site: Site, sender: SyncMethod) -> set[str]:
    return {kind for (kind,) in _kinds(sender, max_attempts_of(sender)).run(site=site.pk)}


def job_of(batch: UUID) -> int | None:
    ((job_id,),) = _job().run(batch=batch)
    return cast("int | None", job_id)


def accept(model: type[Uploadable], batch: UUID, values: PerRowValues) -> Collection[UUID]:
    """Complete rows that an upload holds; mostly they were in one request."""
    request_id = values.shared("provider_request_id")
    if request_id is None:
        return rows_of(model).in_batch(batch).accept(values)
    return _accept(model).run(values.ids, batch=batch, request_id=request_id)


def receive(model: type[Uploadable], batch: UUID, values: PerRowValues) -> Collection[UUID]:
    """Store that the provider took rows that an upload holds; mostly they were in one request."""
    request_id = values.shared("provider_request_id")
    if request_id is None:
        return rows_of(model).in_batch(batch).receive(values)
    return _receive(model).run(values.ids, batch=batch, request_id=request_id)


def confirm(model: type[Uploadable], batch: UUID, ids: Collection[UUID]) -> Collection[UUID]:
    """Complete rows of an upload that waited for the verdict."""
    return _confirm(model).run(ids, batch=batch)


# The cap is a setting, and part of the statement.
@lru_cache(maxsize=32)
def _claim(sender: SyncMethod, limit: int, alone: bool | None, _cap: int) -> CompiledMove:
    # The site is asked once for all rows, in the statement that claims them.
    may_send = Exists(Site.objects.filter(pk=SITE, sync_method=sender, is_paused=False))
    due = _rows_of_site(alone).due(path=sender).filter(may_send)
    return due.compile_take("claim", *Conversion.SENT, limit=limit, order=OLDEST_FIRST, **CLAIMED, open_batch=BATCH)


@lru_cache(maxsize=8)
def _kinds(sender: SyncMethod, _cap: int) -> CompiledValues:
    return CompiledValues(Adjustment.objects.filter(site=SITE).due(path=sender).values_list("kind").distinct())


@cache
def _mark_sent(model: type[Uploadable]) -> CompiledUpdate:
    held = rows_of(model).in_batch(BATCH)
    unsent = UploadBatch.objects.filter(Exists(held), pk=BATCH, sent_at=None)
    sent = {"sent_at": Now(), "row_ids": ArraySubquery(held.order_by("pk").values("pk"))}
    # Mostly all rows are still held, and then their ids are not read back.
    count = "cardinality(row_ids)"
    return CompiledUpdate(unsent, sent, f"{count}, CASE WHEN {count} <> %s THEN row_ids END", Parameter("expected"))


@cache
def _values(model: type[Uploadable], columns: tuple[str, ...]) -> CompiledValues:
    return CompiledValues(rows_of(model).filter(pk__any_of=Parameter("ids")).values_list(*columns))


@cache
def _job() -> CompiledValues:
    return CompiledValues(UploadBatch.objects.filter(pk=BATCH).values_list("job_id"))


@cache
def _due_hint(alone: bool | None) -> IndexHint:
    return IndexHint(_rows_of_site(alone).deferred())


def _rows_of_site(alone: bool | None) -> ConversionQuerySet:
    rows = Conversion.objects.filter(site=SITE)
    return rows if alone is None else rows.filter(send_alone=alone)


@cache
def _accept(model: type[Uploadable]) -> CompiledMoveOfIds:
    return CompiledMoveOfIds(rows_of(model).in_batch(BATCH), "ack", {**DONE, **REQUEST_ID})


@cache
def _receive(model: type[Uploadable]) -> CompiledMoveOfIds:
    return CompiledMoveOfIds(rows_of(model).in_batch(BATCH), "receive", {**TAKEN, **REQUEST_ID})


@cache
def _confirm(model: type[Uploadable]) -> CompiledMoveOfIds:
    return CompiledMoveOfIds(rows_of(model).received_in(BATCH), "confirm", DONE)
