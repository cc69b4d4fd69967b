"""Each check of a chaos run finds what it is for: the rule is broken by SQL, past the guards, and it says so."""

import copy
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from kilit.lock.identity import uuid7
from orchestrator.models import Job
from pdfjobs.storage import artifacts
from tests.support.pdf_jobs import PDF
from tests.support.stock import stock_adds_up
from tests.system.chaos import invariants, outside, requests_of_people
from tests.system.chaos.clients import CLEAR
from tests.system.chaos.good_day import ADDRESS
from tests.system.chaos.invariants import INSIDE
from tests.system.chaos.outside import OUTSIDE, World

pytestmark = [pytest.mark.django_db, pytest.mark.slow]  # each makes a day's work in all queues


@contextmanager
def undone() -> Iterator[None]:
    """Take back what is done within: one good day serves for many bad ones."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@contextmanager
def put_back(folder: Path) -> Iterator[None]:
    """The same for files."""
    kept = shutil.copytree(folder, folder.with_name(f"{folder.name}-kept"))
    yield
    shutil.rmtree(folder)
    kept.rename(folder)


def test_after_a_good_day_nothing_is_found(world) -> None:
    assert [check() for check in INSIDE] == [[]] * len(INSIDE)
    assert [check(world) for check in OUTSIDE] == [[]] * len(OUTSIDE)


DONE = "UPDATE orchestrator_job SET status = 'DONE', handed_at = now(), finished_at = now(), xml_sha256 = 'x'"
COPIES = requests_of_people.corrected_copies_take_the_place_of_their_rows
ERASED = requests_of_people.erased_rows_identify_no_one
ORDERS = requests_of_people.each_order_has_one_job
BROKEN_INSIDE: list[tuple[Any, str]] = [
    (invariants.every_job_ended, "UPDATE orchestrator_job SET status = 'NEW'"),
    (
        invariants.every_job_ended,
        """UPDATE pdfjobs_pdfjob SET status = 'running', artifact_key = '', finished_at = NULL,
        claim_token = gen_random_uuid(), lease_until = now()""",
    ),
    (
        invariants.the_log_is_audited,
        "UPDATE lock_event SET to_state = 'DONE' WHERE queue = 'cutting_job' AND from_state = 'NEW'",
    ),
    (
        invariants.the_log_is_audited,
        "UPDATE lock_event SET from_state = 'PROCESSING' WHERE details->>'verb' = 'claim'",
    ),
    (invariants.the_log_is_audited, "UPDATE orchestrator_job SET status = 'HOLD', error_code = 'E_CRM_NO_MATCH'"),
    (invariants.the_log_is_audited, "DELETE FROM lock_event WHERE queue = 'conversion' AND to_state = 'PROCESSING'"),
    (invariants.the_log_is_audited, "DELETE FROM lock_event WHERE queue = 'pdf'"),
    (invariants.totals_are_exact, "UPDATE lock_countdelta SET change = change + 1 WHERE change > 0"),
    (invariants.totals_are_exact, "DELETE FROM lock_countdelta WHERE queue = 'pdf'"),
    (invariants.the_log_is_audited, "UPDATE offline_conversion_queue SET attempt_count = attempt_count + 1"),
    (invariants.the_log_is_audited, "UPDATE outbox_outboxmessage SET attempt_count = attempt_count + 1"),
    (invariants.retries_were_made, "UPDATE orchestrator_job SET retry_count = 1"),
    (invariants.retries_were_made, "DELETE FROM lock_event WHERE queue = 'pdf' AND to_state = 'running'"),
    (invariants.one_holder_at_a_time, "UPDATE lock_event SET from_state = to_state"),
    (invariants.one_holder_at_a_time, "UPDATE pdfjobs_pdfjob SET started_at = started_at + interval '1 second'"),
    (invariants.one_holder_at_a_time, "UPDATE ociqueue_uploadbatch SET size = 2"),
    (
        invariants.one_holder_at_a_time,
        """INSERT INTO lock_event (queue, object_id, event_type, from_state, to_state, actor, details)
        SELECT 'cutting_job', gen_random_uuid(), 'x', 'OPTI_IMPORTED', 'OPTI_RUNNING', 'x', '{}'
        FROM generate_series(1, 2)""",
    ),
    (invariants.sums_add_up, "UPDATE lock_errordelta SET change = change + 1"),
    (invariants.sums_add_up, "UPDATE bulk_bulkitem SET result = 'skipped'"),
    (invariants.sums_add_up, "DELETE FROM lock_event WHERE message LIKE '%(bulk action %'"),
    (stock_adds_up, DONE + """, planning = '{"stock": {"reserved": 1, "missing": [], "offcuts": []}}'"""),
    (
        stock_adds_up,
        """WITH kind AS (
          INSERT INTO orchestrator_boardkind (material_code, color, thickness_mm, length_mm, width_mm, place, least)
          VALUES ('x', 'x', 18, 2, 1, '', 0) RETURNING *)
        INSERT INTO orchestrator_stockitem
          (id, status, material_code, color, thickness_mm, length_mm, width_mm, place, board_id)
        SELECT gen_random_uuid(), 'AVAILABLE', 'x', 'x', 18, 2, 1, '', id FROM kind""",
    ),
    (COPIES, "UPDATE offline_conversion_queue SET is_replaced = false"),
    (COPIES, "UPDATE offline_conversion_queue SET is_replaced = true WHERE gclid = 'a'"),
    (COPIES, "UPDATE offline_conversion_queue SET order_id = 'else' WHERE replaces_id IS NOT NULL"),
    (COPIES, "UPDATE lock_event SET from_state = 'QUEUED', id = id + 1000000 WHERE to_state = 'PROCESSING'"),
    (ERASED, "UPDATE offline_conversion_queue SET gclid = 'left' WHERE erased_at IS NOT NULL"),
    (ERASED, "DELETE FROM lock_event WHERE event_type = 'ERASED'"),
    (ERASED, "UPDATE ociqueue_erasure SET rows_erased = 2"),
    (ORDERS, "UPDATE orchestrator_orderdraft SET order_id = 'else'"),
    (ORDERS, "UPDATE orchestrator_orderfile SET content = 'else'"),
    (ORDERS, "UPDATE orchestrator_job SET order_id = 'same', revision = 0"),
]


@pytest.mark.parametrize("check", INSIDE, ids=lambda check: check.__name__)
@pytest.mark.by_day(4)
def test_each_broken_rule_is_found(check, world, past_the_guards) -> None:
    statements = [statement for found_by, statement in BROKEN_INSIDE if found_by is check]

    assert statements
    for statement in statements:
        with undone():
            past_the_guards(statement.replace("%", "%%"))
            assert check(), statement


BROKEN_OUTSIDE: list[tuple[Any, str]] = [
    (outside.each_order_is_delivered_once, f"{DONE}, error_code = ''"),
    (outside.each_order_is_delivered_once, "UPDATE orchestrator_job SET by_hand = true"),
    (outside.each_document_has_its_file, "UPDATE pdfjobs_pdfjob SET artifact_key = 'pdfs/else.pdf'"),
    (outside.each_document_has_its_file, "UPDATE pdfjobs_pdfjob SET artifact_digest = 'else'"),
    (
        outside.scripts_were_handed_what_they_claimed,
        "UPDATE offline_conversion_queue SET status = 'COMPLETED' WHERE status = 'FAILED'",
    ),
    (
        outside.google_has_what_is_completed,
        "UPDATE offline_conversion_queue SET status = 'FAILED', uploaded_at = NULL, provider_error_code = 'X'",
    ),
    (outside.google_has_what_is_completed, "UPDATE offline_conversion_queue SET order_id = 'same'"),
    (outside.data_manager_has_what_is_completed, "UPDATE ociqueue_receipt SET rejected = 0"),
    (outside.data_manager_has_what_is_completed, "UPDATE ociqueue_receipt SET row_ids = ARRAY[row_ids[2], row_ids[1]]"),
    (
        outside.data_manager_has_what_is_completed,
        "UPDATE offline_conversion_queue SET status = 'FAILED', uploaded_at = NULL, provider_error_code = 'X'",
    ),
    (
        outside.data_manager_has_what_is_completed,
        "UPDATE offline_conversion_queue SET status = 'COMPLETED', uploaded_at = now() WHERE gclid = 'e'",
    ),
    (outside.each_event_is_reported, "DELETE FROM outbox_outboxmessage WHERE kind = 'conversion.uploaded'"),
    (outside.each_event_is_reported, "DELETE FROM outbox_outboxmessage WHERE kind = 'conversion.completed'"),
    (outside.each_event_is_reported, "UPDATE outbox_outboxmessage SET object_id = gen_random_uuid()"),
    (outside.each_event_is_reported, "UPDATE outbox_outboxmessage SET id = gen_random_uuid()"),
    (outside.addresses_are_stored_as_hashes, f"UPDATE lock_event SET message = 'of somebody{CLEAR}'"),
    (outside.adjustments_are_the_last_word, "UPDATE ociqueue_adjustment SET value = 7"),
]


def twice_at_the_saw(world: World) -> None:
    world.saw_log.write_text(world.saw_log.read_text() * 2)


def two_solutions(world: World) -> None:
    (world.saw / "processed" / f"{Job.objects.get(drafts=None).pk}_a2.xml").write_text("<x/>")


def a_file_of_nobody(_: World) -> None:
    artifacts.save("pdfs/0/of-nobody.pdf", PDF)


def handed_twice(world: World) -> None:
    path = world.ledger / "client.jsonl"
    path.write_text(path.read_text() * 2)


def sent_twice(world: World) -> None:
    world.sent = Counter(dict.fromkeys(world.sent, 2))


def data_manager_lost_it(world: World) -> None:
    world.confirmed = set()


def taken_twice(world: World) -> None:
    world.requests["r-4"] = world.requests["r-2"]


def two_senders(world: World) -> None:
    world.sent.update(world.requests["r-2"])


def sent_after_its_adjustment(world: World) -> None:
    for values in world.values.values():
        values.append(values[0])


def adjustment_lost(world: World) -> None:
    world.values = {name: values[:1] for name, values in world.values.items()}


def google_lost_it(world: World) -> None:
    world.applied = set()


def the_receiver_lost_one(world: World) -> None:
    world.accepted.popitem()


def signed_wrongly(world: World) -> None:
    world.receiver["invalid"] = 1


def google_counts_another_value(world: World) -> None:
    world.counted = dict.fromkeys(world.counted, Decimal(1))


def an_address_in_a_log(world: World) -> None:
    world.saw_log.write_text(f"somebody{CLEAR}")


def an_address_sent_in_clear(world: World) -> None:
    world.outgoing.append(f"somebody{CLEAR}".encode())


def note(world: World, **line: Any) -> None:
    (world.ledger / "other.jsonl").write_text(f"{json.dumps(line)}\n")


BROKEN_WORLDS: list[tuple[Any, Callable[[World], None]]] = [
    (outside.each_order_is_delivered_once, twice_at_the_saw),
    (outside.each_order_is_delivered_once, two_solutions),
    (outside.each_document_has_its_file, a_file_of_nobody),
    (outside.scripts_were_handed_what_they_claimed, handed_twice),
    (outside.google_has_what_is_completed, sent_twice),
    (outside.google_has_what_is_completed, google_lost_it),
    (outside.data_manager_has_what_is_completed, data_manager_lost_it),
    (outside.data_manager_has_what_is_completed, taken_twice),
    (outside.data_manager_has_what_is_completed, two_senders),
    (outside.adjustments_are_the_last_word, sent_after_its_adjustment),
    (outside.adjustments_are_the_last_word, adjustment_lost),
    (outside.each_event_is_reported, the_receiver_lost_one),
    (outside.each_event_is_reported, signed_wrongly),
    (outside.adjustments_are_the_last_word, google_counts_another_value),
    (outside.addresses_are_stored_as_hashes, an_address_in_a_log),
    (outside.addresses_are_stored_as_hashes, an_address_sent_in_clear),
    (
        outside.addresses_are_stored_as_hashes,
        partial(note, what="made", queue="pdf", ids=[], people={"has-address": f"else{CLEAR}"}),
    ),
    (outside.addresses_are_stored_as_hashes, partial(note, what="forgotten", ids=[ADDRESS])),
    (outside.nothing_is_lost, partial(note, what="made", queue="cutting_job", ids=[str(uuid7())])),
    (outside.nothing_is_lost, partial(note, what="made", queue="conversion", ids=["a key"])),
    (outside.nothing_is_lost, partial(note, what="refused", path="/jobs", status=500, reply=None)),
]


@pytest.mark.parametrize("check", OUTSIDE, ids=lambda check: check.__name__)
@pytest.mark.by_day(4)
def test_rows_and_a_world_that_do_not_fit_are_found(check, world, tmp_path, past_the_guards) -> None:
    statements = [statement for found_by, statement in BROKEN_OUTSIDE if found_by is check]
    accidents = [happen for found_by, happen in BROKEN_WORLDS if found_by is check]

    assert statements or accidents
    for statement in statements:
        with undone(), put_back(tmp_path):
            if "DONE" in statement:
                (world.saw / "processed").joinpath(f"{Job.objects.get(drafts=None).pk}_a1.xml").unlink()
            past_the_guards(statement)
            assert check(world), statement
    for happen in accidents:
        with undone(), put_back(tmp_path):
            changed = copy.deepcopy(world)
            happen(changed)
            assert check(changed), happen
