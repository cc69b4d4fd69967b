"""An audit finds what no trigger has seen: raw SQL without triggers, half a backup, a bad migration."""

import json
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import translation

from kilit.audit.checks import checks
from kilit.audit.models import Audit
from kilit.audit.registrations import find
from kilit.audit.replay import Fault
from kilit.audit.run import audit, sentence
from kilit.lock.audit import acting_as
from kilit.lock.leases import no_lease
from kilit.lock.models import QueuePause
from kilit.problems.registry import SeesEverything
from tests.apps.parcels.models import Parcel
from tests.apps.parcels.states import PARCELS, State

TOO_HEAVY = "Parcel %(name)s is too heavy."

pytestmark = pytest.mark.django_db(transaction=True)


def deliver_parcel() -> Parcel:
    Parcel.objects.create()
    (parcel,) = Parcel.objects.claim(limit=1)
    return parcel.move("deliver", **no_lease())


def behind_the_triggers(statement: str, *params: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, params)


def change_state(parcel: Parcel) -> None:
    behind_the_triggers("UPDATE parcels_parcel SET status = 'WAITING' WHERE id = %s", parcel.pk)


def forget_last_event(parcel: Parcel) -> None:
    behind_the_triggers(
        "DELETE FROM lock_event WHERE id = (SELECT max(id) FROM lock_event WHERE object_id = %s)", parcel.pk
    )


def forget_claim(parcel: Parcel) -> None:
    behind_the_triggers("DELETE FROM lock_event WHERE object_id = %s AND to_state = 'CARRIED'", parcel.pk)


def forget_birth(parcel: Parcel) -> None:
    behind_the_triggers("DELETE FROM lock_event WHERE object_id = %s AND from_state = ''", parcel.pk)


def forget_all(parcel: Parcel) -> None:
    behind_the_triggers("DELETE FROM lock_event WHERE object_id = %s", parcel.pk)


def lose_row(parcel: Parcel) -> None:
    behind_the_triggers("DELETE FROM parcels_parcel WHERE id = %s", parcel.pk)


def count_once_more(parcel: Parcel) -> None:
    behind_the_triggers("UPDATE parcels_parcel SET attempt_count = attempt_count + 1 WHERE id = %s", parcel.pk)


def create_again_elsewhere(parcel: Parcel) -> None:
    forget_all(parcel)
    append(parcel, "", State.DELIVERED)


def exchange_times(parcel: Parcel) -> None:
    """Give the claim the time of a delivery two hours later, and the delivery that of the claim."""
    behind_the_triggers(
        "UPDATE lock_event SET created_at = created_at + interval '2 hours'"
        " WHERE object_id = %s AND to_state = 'CARRIED'",
        parcel.pk,
    )


def delay_birth(parcel: Parcel) -> None:
    behind_the_triggers(
        "UPDATE lock_event SET created_at = created_at + interval '2 hours' WHERE object_id = %s AND from_state = ''",
        parcel.pk,
    )


def change_actor(parcel: Parcel) -> None:
    behind_the_triggers(
        "UPDATE lock_event SET actor = 'operator:berk'"
        " WHERE object_id = %s AND to_state = 'WAITING' AND from_state <> ''",
        parcel.pk,
    )


def append(parcel: Parcel, source: str, target: str, **columns: str) -> None:
    """Write an event as a migration might that moves rows by hand."""
    values = {"actor": "worker:1", "details": "{}", "created_at": "now", **columns}
    behind_the_triggers(
        "INSERT INTO lock_event"
        " (queue, object_id, event_type, from_state, to_state, actor, message, details, created_at)"
        " VALUES ('parcel', %s, 'STATE_X', %s, %s, %s, '', %s, %s)",
        parcel.pk,
        source,
        target,
        *values.values(),
    )
    behind_the_triggers("UPDATE parcels_parcel SET status = %s WHERE id = %s", target, parcel.pk)


DAMAGES: dict[str, tuple[Callable[[Parcel], None], Fault]] = {
    "a state was changed by hand": (change_state, Fault.OTHER_STATE),
    "the end of the log is missing": (forget_last_event, Fault.OTHER_STATE),
    "a move is missing in between": (forget_claim, Fault.GAP),
    "the beginning is missing": (forget_birth, Fault.NOT_BORN),
    "the log was not restored": (forget_all, Fault.NO_EVENTS),
    "the row was not restored": (lose_row, Fault.NO_ROW),
    "a claim was not counted": (count_once_more, Fault.OTHER_ATTEMPTS),
    "a migration moved it back": (lambda p: append(p, State.DELIVERED, State.WAITING), Fault.NOT_LISTED),
    "a migration created it again": (lambda p: append(p, "", State.WAITING), Fault.BORN_TWICE),
    "a migration created it in a state that no new row has": (create_again_elsewhere, Fault.BORN_WRONG),
    "the times of two moves were exchanged": (exchange_times, Fault.TIME_WENT_BACK),
    "the creation was set two hours later": (delay_birth, Fault.OTHER_TIME),
    "a move is a year older than the one before": (
        lambda p: append(p, State.DELIVERED, State.DELIVERED, created_at="2001-01-01"),
        Fault.TIME_WENT_BACK,
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found_and_named(name):
    damage, fault = DAMAGES[name]
    deliver_parcel()
    damaged = deliver_parcel()
    damage(damaged)

    record = audit()

    assert (fault, str(damaged.pk)) in [(breach["fault"], breach["job"]) for breach in record.breaches]
    assert {breach["job"] for breach in record.breaches} - {""} == {str(damaged.pk)}


def vanish(parcel: Parcel) -> None:
    forget_all(parcel)
    lose_row(parcel)


def go_back(parcel: Parcel) -> None:
    change_state(parcel)
    behind_the_triggers("UPDATE parcels_parcel SET attempt_count = 0 WHERE id = %s", parcel.pk)
    behind_the_triggers("DELETE FROM lock_event WHERE object_id = %s AND from_state <> ''", parcel.pk)


@pytest.mark.parametrize(
    ("damage", "differing"),
    [(vanish, ["DELIVERED: 1, 2"]), (go_back, ["WAITING: 1, ", "DELIVERED: 1, 2"])],
)
def test_a_job_that_went_or_went_back_with_its_events_is_missing_in_the_numbers(damage, differing) -> None:
    deliver_parcel()
    damage(deliver_parcel())

    daily, full = audit(), audit(full=True)

    rows = [breach["details"] for breach in daily.breaches if breach["fault"] == Fault.OTHER_ROWS]
    assert {details.rstrip("0") for details in rows} == set(differing)
    assert {breach["fault"] for breach in full.breaches} == {Fault.OTHER_ROWS, Fault.OTHER_EVENTS}


@pytest.mark.parametrize("is_one_of_many", [False, True])
def test_an_act_under_another_name_than_the_activity_has_is_found(is_one_of_many) -> None:
    lost = [Parcel.objects.create() for _ in range(3)]
    Parcel.objects.claim(limit=3)
    Parcel.objects.move("lose", error_code="LOST", **no_lease())
    with acting_as("operator:ayse", reason="Found again."):
        Parcel.objects.move("resend", error_code="")
    (damaged,) = Parcel.objects.order_by("pk")[1:2] if is_one_of_many else lost[:1]

    change_actor(damaged)
    (breach,) = audit().breaches

    assert (breach["fault"], breach["job"]) == (Fault.OTHER_ACTOR, str(damaged.pk))
    assert breach["details"] == "operator:berk, operator:ayse"


def test_a_machine_that_makes_an_operators_move_is_found():
    parcel = deliver_parcel()
    with acting_as("sweep:resend"):
        lost = Parcel.objects.create().move("lose", error_code="LOST", **no_lease())
        lost.move("resend", error_code="")

    (breach,) = audit().breaches

    assert (breach["fault"], breach["job"]) == (Fault.WRONG_MAKER, str(lost.pk))
    assert parcel.pk != lost.pk


def test_what_went_well_is_one_sentence_and_is_not_read_again(capsys):
    deliver_parcel()

    call_command("audit")
    deliver_parcel()
    deliver_parcel()
    call_command("audit")
    call_command("audit", full=True)

    assert capsys.readouterr().out.splitlines() == [
        "3 moves of 1 job: all listed.",
        "6 moves, 2 new jobs: all listed.",
        "9 moves of 3 jobs: all listed.",
    ]


@pytest.mark.parametrize(
    ("language", "numbers", "words"),
    [
        ("en", {"moves": 1, "jobs": 1}, "1 move, 1 new job: all listed."),
        ("en", {"moves": 1, "jobs": 0, "breach_count": 2}, "1 move, 0 new jobs: 2 are wrong."),
        (
            "en",
            {"moves": 12034221, "jobs": 4011233, "is_full": True},
            "12,034,221 moves of 4,011,233 jobs: all listed.",
        ),
        ("tr", {"moves": 3, "jobs": 1, "breach_count": 1}, "3 hareket, 1 yeni iş: 1 yanlış."),
        ("tr", {"moves": 3, "jobs": 1, "is_full": True}, "1 iş, 3 hareket: hepsi listede."),
    ],
)
def test_the_sentence_reads_well_for_one_and_for_many(language, numbers, words):
    with translation.override(language):
        assert sentence(Audit(**numbers)) == words


def test_damage_ends_the_command_with_an_error_and_a_report(tmp_path, capsys):
    change_state(deliver_parcel())

    with pytest.raises(CommandError, match=r"3 moves of 1 job: 3 are wrong\."):
        call_command("audit", json=tmp_path / "report.json")

    report = json.loads((tmp_path / "report.json").read_text())
    assert [breach["fault"] for breach in report["breaches"]] == ["OTHER_STATE", "OTHER_ROWS", "OTHER_ROWS"]
    assert "the row is in another state than its last event says" in capsys.readouterr().err


def test_damage_is_a_problem_until_the_whole_log_is_clean():
    parcel = deliver_parcel()
    change_state(parcel)
    audit()

    (problem,) = find(SeesEverything())
    audit()  # what is new is clean
    (again,) = find(SeesEverything())
    behind_the_triggers("UPDATE parcels_parcel SET status = 'DELIVERED' WHERE id = %s", parcel.pk)
    audit(full=True)

    assert problem.key == again.key
    assert list(find(SeesEverything())) == []


def test_a_move_that_commits_late_is_not_skipped(monkeypatch):
    monkeypatch.setattr("kilit.audit.run.SETTLE_SECONDS", 0.0)
    late = Parcel.objects.create()
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("UPDATE parcels_parcel SET status = 'LOST', error_code = 'X' WHERE id = %s", [late.pk])
        deliver_parcel()

        early = audit()
        other.commit()
    finally:
        other.close()

    assert (early.moves, early.breach_count) == (0, 0)
    assert (audit().moves, Audit.objects.count()) == (5, 2)


def test_a_pause_of_a_queue_is_no_job() -> None:
    with acting_as("operator:ayse"):
        QueuePause.objects.pause(PARCELS, reason="Holiday")
        QueuePause.objects.resume(PARCELS)

    assert audit(full=True).breaches == []


def test_a_check_of_an_app_is_a_line_of_each_audit_and_a_problem(monkeypatch, capsys) -> None:
    monkeypatch.setitem(checks, "weights", lambda: [TOO_HEAVY % {"name": "P1"}])
    deliver_parcel()

    with pytest.raises(CommandError, match=r"3 moves of 1 job: 1 is wrong\."):
        call_command("audit")

    (problem,) = find(SeesEverything())
    assert problem.cause == "weights: Parcel P1 is too heavy."
    assert capsys.readouterr().err == "weights: Parcel P1 is too heavy.\n"


def test_an_audit_that_a_check_ends_is_not_read_again_and_what_it_found_is_a_problem(monkeypatch) -> None:
    change_state(deliver_parcel())
    monkeypatch.setitem(checks, "slow", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        audit()
    monkeypatch.delitem(checks, "slow")

    record = audit()

    assert (record.moves, Fault.OTHER_STATE in [breach["fault"] for breach in record.breaches]) == (0, False)
    assert [problem.count for problem in find(SeesEverything())] == [1]
