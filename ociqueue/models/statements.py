"""What each request of a script and each upload run, compiled once.

A script's request finds the site, claims rows and acknowledges rows; an upload claims a site's conversions and settles
rows that Google answered alike. The querysets have the rules; kilit.lock.fast_sql says why they are compiled,
and what their parameters are.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import Any, TypeVar
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import CharField, DateTimeField, Exists, IntegerField, TextField, UUIDField
from django.db.models.functions import Now
from psycopg.types.numeric import FloatLoader
from psycopg.types.string import TextLoader
from pydantic_core import to_json

from kilit.access.roles import is_owner
from kilit.lock.compiled_moves import CompiledMove, CompiledMoveOfIds
from kilit.lock.fast_sql import (
    NO_LOADERS,
    CompiledQuery,
    CompiledUpdate,
    CompiledValues,
    IndexHint,
    Parameter,
    fast_instances,
    parameter,
    uuid_array,
)
from kilit.sites.models import MAY_ACT, read_site_id
from ociqueue.models.adjustment import Adjustment
from ociqueue.models.batch import UploadBatch
from ociqueue.models.claim_start import LONG_CLAIMS, Moment
from ociqueue.models.conversion import ACKED, Conversion, ConversionQuerySet
from ociqueue.models.limits import max_attempts_of
from ociqueue.models.sending import DONE, TAKEN, rows_of
from ociqueue.models.site import Site
from ociqueue.models.uploadable import Uploadable
from ociqueue.states import SyncMethod

Row = TypeVar("Row", bound=Uploadable)
# What a response in JSON needs, without an object for each value in between.
PLAIN = {"uuid": TextLoader, "numeric": FloatLoader, "timestamptz": TextLoader}
SITE = parameter("site", UUIDField())
BATCH = parameter("batch", UUIDField())
REQUEST_ID = {"provider_request_id": parameter("request_id", CharField())}
MEMBERS_SITE = CompiledQuery(
    lambda: Site.objects.of_member(parameter("user", IntegerField()), MAY_ACT).with_ids(
        parameter("name", CharField()), parameter("pk", UUIDField())
    )
)

# Scripts


def find_site_run_by(user: AbstractBaseUser | AnonymousUser, name: str) -> Site | None:
    """Return the site of this id or public id, if `once_run_by` has it for the user."""
    site = MEMBERS_SITE.first(user=user.pk, **read_site_id(name))
    # Scripts are members of their site: only others need to be asked for more.
    return Site.objects.with_id(name).first() if site is None and is_owner(user) else site


def claim_values(
    site: Site,
    *columns: str,
    limit: int,
    sender: SyncMethod = SyncMethod.SCRIPT,
    batch: UUID | None = None,
    alone: bool | None = None,
) -> list[tuple[Any, ...]]:
    """Claim a site's oldest rows if it still has this sender: all, only those that go alone, or only the others.

    Return a few columns of each row; for a script, ids and times are texts and amounts are floats.
    """

    def take(most: int, since: Moment) -> list[tuple[Any, ...]]:
        claim = _claim(sender, (*columns, "created_at"), most, alone, max_attempts_of(sender))
        return claim.run(site=site.pk, batch=batch, since=since)

    with _due_hint(alone).transaction(site=site.pk):
        rows = LONG_CLAIMS.take((site.pk, sender, alone), take, limit)
    return [row[:-1] for row in rows]


def ack_ids(site: Site, ids: AbstractSet[UUID], claims: Mapping[UUID, int]) -> AbstractSet[UUID]:
    """Complete what a site's script uploaded, as far as it holds the rows; return the ids of those that moved."""
    return _ack().run(ids, site=site.pk, claims=claims_document(claims))


def claims_document(claims: Mapping[UUID, int]) -> str:
    return to_json(claims).decode()


# Who claims asks for the same number of rows each time. The cap is a setting, and part of the statement.
@lru_cache(maxsize=32)
def _claim(sender: SyncMethod, columns: tuple[str, ...], limit: int, alone: bool | None, _cap: int) -> CompiledMove:
    loaders = PLAIN if sender == SyncMethod.SCRIPT else NO_LOADERS
    rows = _rows_of_site(alone)
    since = rows.filter(created_at__gte=parameter("since", DateTimeField()))
    return since.compile_claim(*columns, limit=limit, batch=BATCH, sender=sender, site=SITE, loaders=loaders)


@cache
def _ack() -> CompiledMoveOfIds:
    held = _rows_of_site(None).with_script().held_by(parameter("claims", TextField()))
    return CompiledMoveOfIds(held, "ack", **ACKED)


# Uploads


def claim_conversions(
    site: Site, *, batch: UUID, sender: SyncMethod, limit: int, alone: bool | None = None
) -> list[Conversion]:
    rows = claim_values(site, *Conversion.SENT, limit=limit, sender=sender, batch=batch, alone=alone)
    return fast_instances(Conversion, Conversion.objects.db, Conversion.SENT, rows)


def mark_rows_sent(batch: UUID, rows: Sequence[Row]) -> list[Row]:
    """Record that the upload is being sent, and return the rows that it still holds; no rows if it was marked before.

    Lock the upload first: the statement must see what others took back.
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


@cache
def accept(model: type[Uploadable]) -> CompiledMoveOfIds:
    """Return what completes rows that an upload holds and that were in one request."""
    return CompiledMoveOfIds(rows_of(model).in_batch(BATCH), "ack", **DONE, **REQUEST_ID)


@cache
def receive(model: type[Uploadable]) -> CompiledMoveOfIds:
    """Return what stores that the provider took rows of one request: they stay with their upload until the verdict."""
    return CompiledMoveOfIds(rows_of(model).in_batch(BATCH), "receive", **TAKEN, **REQUEST_ID)


@cache
def confirm(model: type[Uploadable]) -> CompiledMoveOfIds:
    return CompiledMoveOfIds(rows_of(model).received_in(BATCH), "confirm", **DONE)


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
def _due_hint(alone: bool | None) -> IndexHint:
    return IndexHint(_rows_of_site(alone).deferred())


def _rows_of_site(alone: bool | None) -> ConversionQuerySet:
    rows = Conversion.objects.filter(site=SITE)
    return rows if alone is None else rows.filter(send_alone=alone)
