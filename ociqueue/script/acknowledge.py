"""Acknowledgements and operators' actions: which rows moved, and which were skipped."""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from uuid import UUID

from django.db import transaction
from django.db.models import TextField, Value

from kilit.lock.models import Event
from kilit.masking import mask_identifiers
from ociqueue import sentences
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX, ConversionQuerySet
from ociqueue.models.statements import ack_ids, claims_document
from ociqueue.states import Category, ConversionStatus

Claims = Mapping[UUID, int]
NO_CLAIMS: Claims = {}
Move = Callable[[AbstractSet[UUID], Claims], AbstractSet[UUID]]  # of these ids, by the numbers of their claims


@dataclass(frozen=True)
class MoveResult:
    moved: int
    skipped: list[tuple[UUID, str]]
    ids: frozenset[UUID] = frozenset()  # of those that moved, by one verb

    def skipped_rows(self) -> list[dict[str, str]]:
        return [{"id": f"{PREFIX}{pk}", "status": status} for pk, status in self.skipped]


def by_verb(site: Site, verb: Callable[[ConversionQuerySet], set[UUID]]) -> Move:
    def move(ids: AbstractSet[UUID], claims: Claims) -> set[UUID]:
        rows = Conversion.objects.for_site(site).filter(pk__any_of=ids)
        return verb(rows.held_by(Value(claims_document(claims), TextField())) if claims else rows)

    return move


def move_rows(
    site: Site,
    ids: Iterable[UUID],
    move: Move,
    *,
    claims: Claims = NO_CLAIMS,
    late: str = "",
    ends: str = "",
) -> MoveResult:
    """Move a site's rows by one statement; rows of other sites are reported as NOT_FOUND.

    With `late`, an event of that name is recorded for each skipped row that is not in the state `ends`. Rows without
    the number of a claim are as good as held.
    """
    wanted = set(ids)
    if not wanted:
        return MoveResult(moved=0, skipped=[])
    with transaction.atomic(savepoint=False):
        moved = move(wanted, claims)
        rest = sorted(wanted - moved, key=attrgetter("int")) if len(moved) < len(wanted) else []
        rows = Conversion.objects.for_site(site).filter(pk__any_of=rest).only("pk", "status") if rest else []
        rows_by_id = {row.pk: row for row in rows}
        if late and rows_by_id:
            Event.objects.record_each([row for row in rows_by_id.values() if row.status != ends], late)
    skipped = [(pk, rows_by_id[pk].status if pk in rows_by_id else "NOT_FOUND") for pk in rest]
    return MoveResult(moved=len(moved), skipped=skipped, ids=frozenset(moved))


def ack(site: Site, ids: Iterable[UUID], *, skipped: Iterable[UUID] = (), claims: Claims = NO_CLAIMS) -> MoveResult:
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
    claims: Claims = NO_CLAIMS,
) -> MoveResult:
    """Fail rows for the reason that a script gives, without what identifies a person: it may be another row's."""
    error = {"code": mask_identifiers(code), "category": category, "message": mask_identifiers(message)}
    move = by_verb(site, lambda rows: rows.ack_failed(**error))
    return move_rows(site, ids, move, claims=claims, late="LATE_ACK_FAILED", ends=ConversionStatus.FAILED)
