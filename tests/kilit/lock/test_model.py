"""Everything that can happen to a job keeps the promises, and each promise fails when one guard is removed."""

from collections.abc import Callable

import pytest

from kilit.lock.table import ALWAYS, Answer, By
from ociqueue.states import ADJUSTMENTS, CONVERSIONS, LIVE, ConversionStatus
from orchestrator.states import JOBS
from outbox.states import MESSAGES
from pdfjobs.states import PDF_JOBS
from tests.support.model.search import System, search
from tests.support.model.systems import SLOT, SYSTEMS, in_slot, retracted, sent_to_endpoint, with_moves

TWO_HOLDERS = "a row has two holders"
LEFT_END = "a row leaves its end"
NOT_SHOWN = "sent twice, and it was not shown as unknown"
NOT_ALLOWED = "sent twice, and nobody allowed it"
DEAD_WORKERS, NO_ANSWERS = "a row never ends when every worker dies", "a row never ends when no answer arrives"

FAULTS: dict[str, tuple[Callable[[], System], str]] = {
    "a conversion that is claimed is claimed again": (
        lambda: System((with_moves(CONVERSIONS, claim={"sources": LIVE}),)),
        TWO_HOLDERS,
    ),
    "a holder that reports proves nothing": (
        lambda: System((MESSAGES,), asks_for_claim=False),
        "a stale holder moved a row",
    ),
    "the token of a PDF claim is not asked for": (
        lambda: System((PDF_JOBS,), asks_for_claim=False),
        "a stale holder moved a row",
    ),
    "recover takes what was sent": (
        lambda: System(
            (with_moves(CONVERSIONS, recover={"sources": (ConversionStatus.PROCESSING, ConversionStatus.COMPLETED)}),)
        ),
        LEFT_END,
    ),
    "the sweep replays messages": (
        lambda: System((with_moves(MESSAGES, replay={"by": frozenset({By.SWEEP})}),)),
        LEFT_END,
    ),
    "recover does not say that the conversion may be at Google": (
        lambda: System((with_moves(CONVERSIONS, recover={"after": frozenset()}),)),
        NOT_SHOWN,
    ),
    "a row that was taken back does not say so": (
        lambda: System((ADJUSTMENTS,), records_unknown=False),
        NOT_SHOWN,
    ),
    "the saw's file is not recorded before it is written": (
        lambda: System((with_moves(JOBS, validate={"sends": ALWAYS}),)),
        NOT_ALLOWED,
    ),
    "a job is retried while the saw may have its file": (
        lambda: System((with_moves(JOBS, retry={"when": ()}, validate={"sends": ({"taken": False},)}),)),
        NOT_ALLOWED,
    ),
    "people say that they cut what the saw may have": (
        lambda: System((with_moves(JOBS, cut_by_hand={"when": ()}),)),
        NOT_SHOWN,
    ),
    "a job that the saw has taken is left to people": (
        lambda: System((with_moves(JOBS, await_cutting={"when": ({"open": False},)}),)),
        NOT_ALLOWED,
    ),
    "a runner takes a job that people cut": (
        lambda: System((with_moves(JOBS, with_people=False),)),
        DEAD_WORKERS,
    ),
    "Google does not recognise a conversion": (
        lambda: System((unrecognised(),)),
        NOT_ALLOWED,
    ),
    "a sweep gives attempts back": (
        lambda: System((with_moves(CONVERSIONS, requeue_transient={"sets": {"spent": False}}),)),
        "a count goes down",
    ),
    "claims do not look at the attempts": (
        lambda: System((with_moves(MESSAGES, claim={"when": ()}, retry_later={"when": ()}),)),
        "a row is tried too often",
    ),
    "the cap forgets rows that wait": (
        lambda: System((with_moves(CONVERSIONS, cap={"sources": (ConversionStatus.PROCESSING,)}),)),
        DEAD_WORKERS,
    ),
    "the cap forgets adjustments": (
        lambda: System((with_moves(ADJUSTMENTS, cap=None),)),
        DEAD_WORKERS,
    ),
    "a message waits without attempts left": (
        lambda: sent_to_endpoint(with_moves(MESSAGES, retry_later={"when": ()})),
        NO_ANSWERS,
    ),
    "nobody takes a PDF from a dead worker": (
        lambda: System((with_moves(PDF_JOBS, fail={"by": frozenset({By.HOLDER})}),)),
        DEAD_WORKERS,
    ),
    "nobody takes a message from a dead worker": (
        lambda: System((with_moves(MESSAGES, recover=None, fail={"by": frozenset({By.HOLDER})}),)),
        DEAD_WORKERS,
    ),
    "a worker keeps a message whose answer is lost": (
        lambda: System(
            (
                with_moves(
                    MESSAGES,
                    recover=None,
                    retry_later={"after": frozenset({Answer.NO})},
                    fail={"after": frozenset({Answer.NO}), "by": frozenset({By.HOLDER})},
                ),
            )
        ),
        NO_ANSWERS,
    ),
    "Google's verdict never comes": (
        lambda: System((with_moves(CONVERSIONS, lose=None),)),
        NO_ANSWERS,
    ),
    "a conversion is retracted while it is sent, and its retraction is marked failed": (
        lambda: retracted(with_moves(CONVERSIONS, retract={"by": frozenset({By.ROW})})),
        DEAD_WORKERS,
    ),
    "an adjustment waits for a conversion that failed": (
        lambda: retracted(adjustments=with_moves(ADJUSTMENTS, lose_original=None)),
        DEAD_WORKERS,
    ),
    "a message waits for an endpoint that is off": (
        lambda: sent_to_endpoint(with_moves(MESSAGES, expire=None)),
        DEAD_WORKERS,
    ),
    "the slot is not asked for": (
        lambda: in_slot(with_moves(SLOT, start={"alone": False})),
        "two rows are in OPTI_RUNNING",
    ),
}


def unrecognised():
    table = with_moves(CONVERSIONS)
    table.known_by = ""
    return table


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.by_day(6)
def test_whatever_happens_every_promise_is_kept(name):
    assert search(SYSTEMS[name]).breaches == ()


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.by_day(8)
def test_a_missing_guard_is_found(name):
    system, promise = FAULTS[name]

    breaches = search(system(), until=promise).breaches

    assert promise in [breach.what for breach in breaches]
