"""Without one guard of a queue, an order is found in which two who meet do what its table forbids."""

import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import pytest

from tests.support.interleaving import Order, Stage
from tests.system.interleavings.batches import BULK_ACTIONS, CIRCUITS, IMPORTS
from tests.system.interleavings.conversions import SCRIPT, UPLOAD
from tests.system.interleavings.cutting_jobs import JOBS
from tests.system.interleavings.meeting import Queue, meet
from tests.system.interleavings.messages import MESSAGES
from tests.system.interleavings.pdf_jobs import PDF_JOBS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("floor", "rules_file")]

MOST_TURNS = 25
ANY = "%s IS NOT NULL"  # of a value that is compared no more


class Guard(NamedTuple):
    queue: Queue
    place: str
    names: tuple[str, str]
    breach: str
    statement: str  # the part of a statement that is the guard
    without: str = ANY


def equals(column: str) -> str:
    """Return what finds the comparison of a column with a value."""
    return rf"{column} = \(?%s\)?( AND {column} IS NOT NULL)?"


def token(table: str) -> str:
    return equals(f'"{table}"."claim_token"')


GUARDS = {
    "a PDF is finished only under the token of its claim": Guard(
        PDF_JOBS, "claimed", ("finish late", "take over"), "under the claim of worker:next", token("pdfjobs_pdfjob")
    ),
    "a message is settled only under the token of its claim": Guard(
        MESSAGES,
        "claimed",
        ("delivered late", "take over"),
        "under the claim of worker:next",
        token("outbox_outboxmessage"),
    ),
    "an answer settles only what its upload still holds": Guard(
        UPLOAD,
        "claimed",
        ("answer yes", "take over"),
        "under the claim of worker:next",
        equals('"offline_conversion_queue"."open_batch_id"'),
    ),
    "a claim locks its rows": Guard(
        SCRIPT,
        "new",
        ("claim", "claim"),
        "cannot change its attempt_count from 1 to 2",
        r'FOR UPDATE OF "offline_conversion_queue" SKIP LOCKED',
        "",
    ),
    "a file is given to the saw only under the lease of its job": Guard(
        JOBS, "claimed and solved", ("deliver late", "deliver next"), "the saw took", token("orchestrator_job")
    ),
    "a batch is done only under the lease of its bulk action": Guard(
        BULK_ACTIONS, "claimed", ("go on late", "work"), "resting_bulk_is_free", token("bulk_bulkaction")
    ),
    "lines are stored only under the lease of their import": Guard(
        IMPORTS, "claimed", ("go on late", "work"), "resting_import_is_free", token("ociqueue_importjob")
    ),
    "a probe is taken only while it is due": Guard(
        CIRCUITS,
        "open",
        ("probe", "probe"),
        "two probes were sent",
        r'"ociqueue_circuit"."next_probe_at" <= \(?STATEMENT_TIMESTAMP\(\)\)?',
        "true",
    ),
}


def orders_with_one_switch() -> Iterator[Order]:
    yield from (Order(first, {turn: 1}) for turn in range(1, MOST_TURNS) for first in (0, 1))


def first_breach(stage: Stage, guard: Guard) -> list[str]:
    for order in orders_with_one_switch():
        breaches = meet(stage, guard.queue, guard.place, guard.names, order)
        if any(guard.breach in breach for breach in breaches):
            return breaches
    return []


@pytest.mark.parametrize("name", GUARDS)
def test_without_a_guard_an_order_breaks_a_promise(stage, name: str):
    guard = GUARDS[name]
    without = partial(re.sub, guard.statement, guard.without)

    with stage.rewritten(without):
        breaches = first_breach(stage, guard)

    assert breaches, "the guard is not needed, or nothing was rewritten"
