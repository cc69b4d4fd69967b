"""Acknowledgements and operators' actions: what moved, and what was left as it was."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from uuid import UUID

from django.db import transaction

from kilit.lock.models import Event
from ociqueue.models import Conversion, Site
from ociqueue.models.conversion import PREFIX
from ociqueue.models.queryset import ConversionQuerySet
from ociqueue.states import Category, Status

NOT_FOUND = "NOT_FOUND"


@dataclass(frozen=True)
class Outcome:
    """What a request did to the rows it named."""

    moved: int
    left: list[tuple[UUID, str]]

    def shown(self) -> list[dict[str, str]]:
        """Return the rows left alone, as the API tells them."""
        return [{"id": f"{PREFIX}{pk}", "status": status} for pk, status in self.left]


def settle(
    site: Site, ids: Iterable[UUID], verb: Callable[[ConversionQuerySet], set[UUID]], *, late: str = "", ends: str = ""
) -> Outcome:
    """Apply a verb to a site's rows; rows of other sites, and none, are told apart from nothing.

    With `late`, each row that was left although it is not where the verb would have ended leaves an event of that name.
    """
    wanted = set(ids)
    if not wanted:
        return Outcome(moved=0, left=[])
    with transaction.atomic():
        rows = Conversion.objects.for_site(site).filter(pk__any_of=wanted)
        moved = verb(rows)
        rest = sorted(wanted - moved, key=attrgetter("int")) if len(moved) < len(wanted) else []
        left = {row.pk: row for row in rows.filter(pk__any_of=rest).only("pk", "status")} if rest else {}
        if late and left:
            Event.objects.record_each([row for row in left.values() if row.status != ends], late)
    return Outcome(moved=len(moved), left=[(pk, left[pk].status if pk in left else NOT_FOUND) for pk in rest])


def ack(site: Site, ids: Iterable[UUID], *, skipped: Iterable[UUID] = ()) -> Outcome:
    """Complete what was uploaded; what the script left out on purpose fails for good."""
    done_ids, skipped_ids = list(ids), list(skipped)
    with transaction.atomic():
        if skipped_ids:
            Conversion.objects.for_site(site).filter(pk__any_of=done_ids + skipped_ids).lock_in_order()
        done = settle(site, done_ids, lambda rows: rows.ack(), late="LATE_ACK", ends=Status.COMPLETED)
        skip = ack_failed(
            site,
            skipped_ids,
            code="SKIPPED_BY_SCRIPT",
            category=Category.PERMANENT,
            message="The script left this row out on purpose.",
        )
        site.note_ack()
    return Outcome(moved=done.moved + skip.moved, left=done.left + skip.left)


def ack_failed(site: Site, ids: Iterable[UUID], *, code: str, category: str, message: str) -> Outcome:
    return settle(
        site,
        ids,
        lambda rows: rows.ack_failed(code=code, category=category, message=message),
        late="LATE_ACK_FAILED",
        ends=Status.FAILED,
    )
