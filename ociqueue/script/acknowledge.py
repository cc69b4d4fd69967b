"""Acknowledgements and operators' actions: which rows moved, and which were skipped."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from uuid import UUID

from django.db import transaction

from kilit.lock.models import Event
from kilit.masking import mask_identifiers
from ociqueue import sentences
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX, ConversionQuerySet
from ociqueue.models.statements import ack_ids
from ociqueue.states import Category, ConversionStatus

NO_CLAIMS: Mapping[UUID, int] = {}
Move = Callable[[AbstractSet[UUID], int | None], AbstractSet[UUID]]  # of these ids, by the number of their claim


@dataclass(frozen=True)
class MoveResult:
    moved: int
    skipped: list[tuple[UUID, str]]
    ids: frozenset[UUID] = frozenset()  # of those that moved, by one verb

    def skipped_rows(self) -> list[dict[str, str]]:
        return [{"id": f"{PREFIX}{pk}", "status": status} for pk, status in self.skipped]


def by_verb(site: Site, verb: Callable[[ConversionQuerySet], set[UUID]]) -> Move:
    def move(ids: AbstractSet[UUID], claim: int | None) -> set[UUID]:
        rows = Conversion.objects.for_site(site).filter(pk__any_of=ids)
        return verb(rows if claim is None else rows.filter(attempt_count=claim))

    return move


def move_rows(
    site: Site,
    ids: Iterable[UUID],
    move: Move,
    *,
    claims: Mapping[UUID, int] = NO_CLAIMS,
    late: str = "",
    ends: str = "",
) -> MoveResult:
    """Move a site's rows, claim by claim; rows of other sites are reported as NOT_FOUND.

    With `late`, an event of that name is recorded for each skipped row that is not in the state `ends`. Rows without
    the number of a claim are as good as held.
    """
    wanted, by_claim = set(ids), defaultdict[int | None, set[UUID]](set)
    if not wanted:
        return MoveResult(moved=0, skipped=[])
    for pk in wanted:
        by_claim[claims.get(pk)].add(pk)
    with transaction.atomic(savepoint=False):
        if len(by_claim) > 1:  # a single statement locks its rows in order anyway
            Conversion.objects.for_site(site).filter(pk__any_of=wanted).lock_in_order()
        moved = set[UUID]().union(*(move(claimed, claim) for claim, claimed in by_claim.items()))
        rest = sorted(wanted - moved, key=attrgetter("int")) if len(moved) < len(wanted) else []
        rows = Conversion.objects.for_site(site).filter(pk__any_of=rest).only("pk", "status") if rest else []
        rows_by_id = {row.pk: row for row in rows}
        if late and rows_by_id:
            Event.objects.record_each([row for row in rows_by_id.values() if row.status != ends], late)
    skipped = [(pk, rows_by_id[pk].status if pk in rows_by_id else "NOT_FOUND") for pk in rest]
    return MoveResult(moved=len(moved), skipped=skipped, ids=frozenset(moved))


def ack(
    site: Site, ids: Iterable[UUID], *, skipped: Iterable[UUID] = (), claims: Mapping[UUID, int] = NO_CLAIMS
) -> MoveResult:
    """Complete what was uploaded; rows that the script skipped on purpose fail permanently.

    With `claims`, the numbers by which the script holds rows, those that a newer claim holds are skipped.
    """
    done_ids, skipped_ids = list(ids), list(skipped)
    with transaction.atomic():
        if skipped_ids:
            Conversion.objects.for_site(site).filter(pk__any_of=done_ids + skipped_ids).lock_in_order()
        ends = ConversionStatus.COMPLETED
        done = move_rows(site, done_ids, partial(ack_ids, site), claims=claims, late="LATE_ACK", ends=ends)
        failed = ack_failed(
            site,
            skipped_ids,
            claims=claims,
            code="SKIPPED_BY_SCRIPT",
            category=Category.PERMANENT,
            message=sentences.SKIPPED,
        )
        site.note_ack()
    return MoveResult(moved=done.moved + failed.moved, skipped=done.skipped + failed.skipped)


def ack_failed(
    site: Site,
    ids: Iterable[UUID],
    *,
    code: str,
    category: str,
    message: str,
    claims: Mapping[UUID, int] = NO_CLAIMS,
) -> MoveResult:
    """Fail rows for the reason that a script gives, without what identifies a person: it may be another row's."""
    error = {"code": mask_identifiers(code), "category": category, "message": mask_identifiers(message)}
    move = by_verb(site, lambda rows: rows.ack_failed(**error))
    return move_rows(site, ids, move, claims=claims, late="LATE_ACK_FAILED", ends=ConversionStatus.FAILED)
