"""Handing solutions to the saw, once, and taking them back."""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kilit.files import write_temp
from orchestrator.errors import Code, JobError
from orchestrator.folders import Folders
from orchestrator.saw import delivery
from orchestrator.saw.delivery import acknowledged, deliver, delivery_name, withdraw
from tests.support.floor import JOB, age
from tests.support.sheets import names_in

NAME = f"{JOB}_a1.xml"
CONTENT = b"<Plan><Solution/></Plan>" * 1000


def saw_takes(floor: Folders) -> None:
    (floor.inbox / NAME).rename(floor.processed / NAME)


def test_a_name_is_unique_to_the_attempt_and_to_the_file() -> None:
    sources = [
        Path(f"{JOB}.xml"),
        Path(f"{JOB}_solution.xml"),
        Path(f"{JOB}_Gümüş.xml"),
        Path(f"{JOB}_Gumus.xml"),
        Path(f"{JOB}_{'x' * 200}.xml"),
        Path(f"{JOB}_{'x' * 199}.xml"),
    ]

    names = [delivery_name(JOB, attempt, source) for attempt in (1, 2) for source in sources]

    assert names[0] == f"{JOB}_a1.xml"
    assert names[1].startswith(f"{JOB}_a1_solution_")
    assert len({name.casefold() for name in names}) == len(names)
    assert all(name.isascii() and len(name) < 200 and name.endswith(".xml") for name in names)


def test_a_delivery_appears_whole_under_its_name(floor: Folders) -> None:
    deliver(CONTENT, NAME, floor)

    assert names_in(floor.inbox) == [NAME]
    assert (floor.inbox / NAME).read_bytes() == CONTENT
    assert acknowledged(NAME, floor) is None


@pytest.mark.parametrize("folder", ["inbox", "processed", "failed"])
def test_what_was_is_delivered_once_is_left_alone(floor: Folders, folder: str) -> None:
    (getattr(floor, folder) / NAME).write_bytes(b"handed over before")

    deliver(CONTENT, NAME, floor)

    assert (getattr(floor, folder) / NAME).read_bytes() == b"handed over before"
    assert sum(len(names_in(each)) for each in (floor.inbox, floor.processed, floor.failed)) == 1


def test_a_slow_holder_does_not_deliver_after_the_saw_was_fast(floor: Folders, monkeypatch: Any) -> None:
    write_temp = delivery.write_temp

    def slowly(*args: Any) -> Path:
        aside = write_temp(*args)
        (floor.processed / NAME).write_bytes(b"the next holder's, and the saw took it already")
        return aside

    monkeypatch.setattr(delivery, "write_temp", slowly)
    deliver(CONTENT, NAME, floor)

    assert names_in(floor.inbox) == []


def test_two_at_once_deliver_one_file(floor: Folders, in_threads: Any) -> None:
    in_threads(lambda _: deliver(CONTENT, NAME, floor), count=8)

    assert names_in(floor.inbox) == [NAME]


def test_nothing_is_overwritten_between_looking_and_placing(floor: Folders, monkeypatch: Any) -> None:
    monkeypatch.setattr(delivery, "_is_delivered", lambda *_: False)
    (floor.inbox / NAME).write_bytes(b"first")

    deliver(CONTENT, NAME, floor)

    assert (floor.inbox / NAME).read_bytes() == b"first"
    assert names_in(floor.inbox) == [NAME]


def test_a_share_without_hard_links_gets_its_file(floor: Folders, monkeypatch: Any) -> None:
    def no_links(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", no_links)
    deliver(CONTENT, NAME, floor)
    deliver(CONTENT, NAME, floor)

    assert names_in(floor.inbox) == [NAME]


@pytest.mark.parametrize(("folder", "is_taken"), [("processed", True), ("failed", False)])
@pytest.mark.parametrize("ask", [acknowledged, withdraw], ids=["in time", "in the last moment"])
def test_the_saws_answers(floor: Folders, folder: str, is_taken: bool, ask: Any) -> None:
    deliver(CONTENT, NAME, floor)
    assert acknowledged(NAME, floor) is None
    (floor.inbox / NAME).rename(getattr(floor, folder) / NAME)

    assert ask(NAME, floor) is is_taken


def test_another_attempts_answer_is_not_ours(floor: Folders) -> None:
    (floor.processed / f"{JOB}_a1.xml").write_bytes(b"stale")
    deliver(CONTENT, f"{JOB}_a2.xml", floor)

    assert acknowledged(f"{JOB}_a2.xml", floor) is None


def test_withdrawn_in_time_the_saw_finds_nothing(floor: Folders) -> None:
    deliver(CONTENT, NAME, floor)

    assert withdraw(NAME, floor) is None

    assert names_in(floor.inbox) == names_in(floor.processed) == names_in(floor.failed) == []


def test_a_saw_that_copies_first_answers_when_the_file_leaves_the_inbox(floor: Folders) -> None:
    deliver(CONTENT, NAME, floor)
    shutil.copy(floor.inbox / NAME, floor.processed / NAME)
    assert acknowledged(NAME, floor) is None

    assert withdraw(NAME, floor) is True
    assert names_in(floor.inbox) == []


def test_a_file_that_is_nowhere_is_reported_as_unknown(floor: Folders) -> None:
    deliver(CONTENT, NAME, floor)
    (floor.inbox / NAME).unlink()

    with pytest.raises(JobError) as fault:
        withdraw(NAME, floor)

    assert fault.value.code == Code.HANDOVER_UNKNOWN
    assert "Ask at the saw" in fault.value.message


def test_what_an_earlier_runner_may_have_delivered_is_not_delivered_again(floor: Folders) -> None:
    """It died before it could say so, and the saw was fast: the file is nowhere."""
    with pytest.raises(JobError) as fault:
        deliver(CONTENT, NAME, floor, may_be_there=True)

    assert fault.value.code == Code.HANDOVER_UNKNOWN
    assert names_in(floor.inbox) == []


def test_a_withdrawal_that_was_killed_half_way_is_finished(floor: Folders) -> None:
    deliver(CONTENT, NAME, floor)
    (floor.inbox / NAME).rename(floor.inbox / f".{NAME}.withdrawn.part")

    assert withdraw(NAME, floor) is None
    assert names_in(floor.inbox) == []


def test_of_the_saw_and_us_one_gets_the_file(floor: Folders, in_threads: Any) -> None:
    def race(number: int) -> Any:
        if number == 0:
            return withdraw(NAME, floor)
        try:
            saw_takes(floor)
        except FileNotFoundError:
            return None
        return True

    for _ in range(30):
        deliver(CONTENT, NAME, floor)
        ours, saws = in_threads(race, count=2)
        assert ours == saws
        assert names_in(floor.inbox) == []
        assert names_in(floor.processed) == ([NAME] if saws else [])
        (floor.processed / NAME).unlink(missing_ok=True)


def test_a_full_disk_leaves_nothing_half_written(floor: Folders, full_disk: Any) -> None:
    with full_disk(), pytest.raises(JobError) as fault:
        deliver(CONTENT, NAME, floor)

    assert str(floor.saw) in fault.value.message
    assert names_in(floor.inbox) == []


def test_a_read_only_saw_fails_cleanly(floor: Folders, mounted: Any) -> None:
    mounted(floor.inbox, "ro")

    with pytest.raises(JobError, match="Read-only file system"):
        deliver(CONTENT, NAME, floor)


def test_a_saw_that_is_away_is_no_answer_and_no_withdrawal(floor: Folders) -> None:
    deliver(CONTENT, NAME, floor)
    floor.saw.rename(floor.saw.with_name("away"))

    assert acknowledged(NAME, floor) is None
    with pytest.raises(JobError) as fault:
        withdraw(NAME, floor)
    assert fault.value.code == Code.UNKNOWN


@pytest.mark.processes
def test_killed_while_writing_nothing_shows_and_the_next_delivers(floor: Folders) -> None:
    child = os.fork()
    if child == 0:

        def die() -> Iterator[bytes]:
            yield b"half"
            os.kill(os.getpid(), signal.SIGKILL)

        delivery.write_temp = lambda folder, name, _: write_temp(folder, name, die())
        deliver(CONTENT, NAME, floor)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert not (floor.inbox / NAME).exists()

    deliver(CONTENT, NAME, floor)

    assert (floor.inbox / NAME).read_bytes() == CONTENT


def test_what_killed_processes_left_is_swept_and_nothing_else(floor: Folders) -> None:
    ours = [floor.inbox / f".{JOB}_a9.xml.0a1b2c3d.part", floor.inbox / ".kilit-0a1b2c3d.part"]
    others = [
        floor.inbox / ".somebody.part",
        floor.inbox / f"{JOB}_a9.xml",
        floor.inbox / f".{JOB}_a8.xml.00000000.part",
    ]
    for path in (*ours, *others):
        path.write_text("")
    for path in (*ours, *others[:2]):
        age(path, 7200)

    deliver(CONTENT, NAME, floor)

    assert names_in(floor.inbox) == sorted([NAME, *(path.name for path in others)])


@pytest.mark.parametrize("hours_ahead", [-3, 3])
def test_leftovers_are_old_by_the_clock_that_stamped_them(floor: Folders, monkeypatch: Any, hours_ahead: int) -> None:
    """Ours may be hours ahead of the share's: another runner's file in the making must not look old for that."""
    old, in_the_making = floor.inbox / f".{JOB}_a8.xml.0a1b2c3d.part", floor.inbox / f".{JOB}_a9.xml.0a1b2c3d.part"
    old.touch()
    age(old, 7200)
    in_the_making.touch()
    now = time.time() + hours_ahead * 3600
    monkeypatch.setattr(time, "time", lambda: now)

    deliver(CONTENT, NAME, floor)

    assert names_in(floor.inbox) == [in_the_making.name, NAME]
