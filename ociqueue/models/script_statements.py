"""What each request of a site's script runs, compiled once: find the site, claim rows, acknowledge rows.

The rules are those of the querysets; kilit.lock.fast_sql says why they are compiled, and what their parameters are.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import CharField, Exists, IntegerField, UUIDField
from psycopg.types.numeric import FloatLoader
from psycopg.types.string import TextLoader

from kilit.access.roles import is_owner
from kilit.lock.fast_sql import CompiledQuery, IndexHint, Parameter, parameter, uuid_array
from kilit.lock.guard import CompiledMove, CompiledMoveOfIds
from kilit.sites.models import MAY_ACT, read_site_id
from ociqueue.models.conversion import Conversion
from ociqueue.models.limits import max_attempts_of
from ociqueue.models.queryset import ACKED, ConversionQuerySet
from ociqueue.models.sending import CLAIMED, OLDEST_FIRST, RELEASED
from ociqueue.models.site import Site
from ociqueue.states import SyncMethod

# What an answer in JSON needs, without an object for each value in between.
PLAIN = {"uuid": TextLoader, "numeric": FloatLoader, "timestamptz": TextLoader}
SITE = parameter("site", UUIDField())
MEMBERS_SITE = CompiledQuery(
    lambda: Site.objects.of_member(parameter("user", IntegerField()), MAY_ACT).with_ids(
        parameter("name", CharField()), parameter("pk", UUIDField())
    )
)


def find_site_run_by(user: AbstractBaseUser | AnonymousUser, name: str) -> Site | None:
    """Return the site of this id or public id, if `once_run_by` has it for the user."""
    site = MEMBERS_SITE.first(user=user.pk, **read_site_id(name))
    # Scripts are members of their site: only others need to be asked for more.
    return Site.objects.with_id(name).first() if site is None and is_owner(user) else site


def claim_values(site: Site, *columns: str, limit: int) -> list[tuple[Any, ...]]:
    """Claim for a site's script; return a few columns of each row, ids and times as texts and amounts as floats."""
    with _due_hint().transaction(site=site.pk):
        return _claim(columns, limit, max_attempts_of(SyncMethod.SCRIPT)).run(site=site.pk)


def ack_ids(site: Site, ids: AbstractSet[UUID], claims: Mapping[UUID, int]) -> AbstractSet[UUID]:
    """Complete what a site's script uploaded, as far as it holds the rows; return the ids of those that moved."""
    numbers = set(claims.values())
    if len(numbers) > 1:
        return Conversion.objects.for_site(site).filter(pk__any_of=ids).under_claims(claims).ack()
    if numbers:
        return _ack_of_claim().run(ids, site=site.pk, number=numbers.pop(), claimed=uuid_array(claims))
    return _ack().run(ids, site=site.pk)


# A script always asks for the same number of rows. The cap is a setting, and part of the statement.
@lru_cache(maxsize=32)
def _claim(columns: tuple[str, ...], limit: int, _cap: int) -> CompiledMove:
    # The site is asked once for all rows, in the statement that claims them.
    may_take = Exists(Site.objects.filter(pk=SITE, sync_method=SyncMethod.SCRIPT, is_paused=False))
    due = _rows_of_site().due(path=SyncMethod.SCRIPT).filter(may_take)
    claimed = {**CLAIMED, **RELEASED}
    return due.compile_take("claim", *columns, limit=limit, order=OLDEST_FIRST, loaders=PLAIN, **claimed)


@cache
def _due_hint() -> IndexHint:
    return IndexHint(_rows_of_site().deferred())


@cache
def _ack() -> CompiledMoveOfIds:
    return CompiledMoveOfIds(_rows_of_site().with_script(), "ack", ACKED)


@cache
def _ack_of_claim() -> CompiledMoveOfIds:
    held = _rows_of_site().under_claim(parameter("number", IntegerField()), of=Parameter("claimed"))
    return CompiledMoveOfIds(held.with_script(), "ack", ACKED)


def _rows_of_site() -> ConversionQuerySet:
    return Conversion.objects.filter(site=SITE)
