"""What people do to the store: boards come and go, and are counted. Each is a move of their rows, with a reason."""

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from kilit.lock.audit import current_context, for_reason
from orchestrator import sentences
from orchestrator.models import BoardKind, Job, StockItem
from orchestrator.models.stock import IDENTITY, StockQuerySet
from orchestrator.states import JobState, StockState

MOST_AT_ONCE = 2_000


class StockRefused(Exception):
    """Why the store cannot be changed like this, in the reader's language."""


@transaction.atomic
def receive(kind: BoardKind, number: int, *, expected: int) -> None:
    """Add boards, if there are as many as whoever adds them saw."""
    _hold_expected(kind, expected)
    _add(kind, number)


@transaction.atomic
def take_out(kind: BoardKind, number: int, *, expected: int) -> None:
    """Take boards out that no job has, if there are as many as whoever takes them saw."""
    _hold_expected(kind, expected)
    _remove(kind, number)


def _hold_expected(kind: BoardKind, expected: int) -> StockQuerySet:
    """Lock the boards of a kind; StockRefused if their number changed since a person saw it, as by this form."""
    BoardKind.objects.select_for_update().get(pk=kind.pk)  # no others come meanwhile
    boards = StockItem.objects.filter(board=kind).on_hand()
    boards.lock_in_order()
    if (on_hand := boards.count()) != expected:
        text = _(
            "There are %(number)s now, not %(expected)s: boards came or were cut meanwhile, or this was sent already."
            " Nothing was saved. Look, then save again."
        )
        raise StockRefused(text % {"number": on_hand, "expected": expected})
    return boards


def _add(kind: BoardKind, number: int) -> None:
    values = {name: getattr(kind, name) for name in (*IDENTITY, "place")}
    with for_reason(current_context().reason or sentences.BOARDS_CAME):
        StockItem.objects.bulk_create(StockItem(board=kind, **values) for _number in range(number))


def _remove(kind: BoardKind, number: int) -> None:
    taken = StockItem.objects.filter(board=kind).take("take_out", limit=number, order=("id",)) if number else []
    if len(taken) < number:
        text = _("Only %(available)s of these boards are available; jobs have the others.")
        raise StockRefused(text % {"available": len(taken)})


def can_be_released(item: StockItem) -> bool:
    return item.status == StockState.RESERVED and _failed_job(item).exists()


def _failed_job(item: StockItem) -> QuerySet[Job]:
    return Job.objects.filter(stock=item, status=JobState.FAILED, open_deliveries=[])


@transaction.atomic
def release(item: StockItem) -> None:
    """Give back what a failed job still has, because the saw has cut some of its boards; it misses this one then."""
    if (job := _failed_job(item).select_for_update(of=("self",)).first()) is None:
        raise StockRefused(_("Its job has not failed, or the saw may be cutting it."))
    item.move("release", job=None)
    stock = (job.planning or {})["stock"]
    missing = [{"board": item.board_id, "number": 1}] if item.board_id else []
    stock |= {"reserved": stock["reserved"] - 1, "missing": [*stock["missing"], *missing]}
    Job.objects.filter(pk=job.pk).update(planning=job.planning)


@transaction.atomic
def count(kind: BoardKind, number: int, *, expected: int) -> int:
    """Make the number of boards on hand what was counted, and return by how many it differs from what was expected."""
    reserved = _hold_expected(kind, expected).filter(status=StockState.RESERVED).count()
    if number < reserved:
        text = _("Jobs have reserved %(reserved)s of these boards. Cancel one of the jobs, or count again.")
        raise StockRefused(text % {"reserved": reserved})
    with for_reason(current_context().reason or sentences.COUNTED % {"number": number, "expected": expected}):
        if number > expected:
            _add(kind, number - expected)
        else:
            _remove(kind, expected - number)
    return number - expected
