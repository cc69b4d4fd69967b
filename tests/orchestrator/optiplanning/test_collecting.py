"""Finding the solution among what lies in a folder that anybody may write to."""

import hashlib
import os
import time
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import Code, JobError
from orchestrator.folders import Folders
from orchestrator.optiplanning import collecting
from orchestrator.optiplanning.collecting import Collected, Wanted, collect, file_clock
from tests.support.floor import BEFORE, GOOD, JOB, XML, age, reason, time_passes

FIGURES = {
    "name": "iki",
    "algo": "BEST",
    "boards_m2": "17.64",
    "patterns": 7,
    "cycles": 8,
    "cuts": 81,
    "time_s": "754.5",
    "cost": "4233.6",
    "drops_m2": "3.05",
    "drop_kinds": "4",
}


def test_a_whole_solution_is_taken_with_the_figures_of_the_best(put: Any, look: Any) -> None:
    path = put()

    found = look()

    assert found.paths == (path,)
    assert found.solution == FIGURES
    assert found.sha256 == hashlib.sha256(GOOD).hexdigest()


def test_nothing_there_and_a_share_that_is_away_are_not_yet(look: Any, floor: Folders) -> None:
    assert look() is None

    floor.export.rmdir()
    assert look() is None


def test_a_file_counts_when_it_was_left_alone_for_two_seconds(put: Any, look: Any, monkeypatch: Any) -> None:
    written_at = datetime.fromtimestamp(put().stat().st_mtime, UTC)

    for seconds, count in ((0, 0), (1.9, 0), (2, 1), (100, 1)):
        now = written_at + timedelta(seconds=seconds)
        monkeypatch.setattr(collecting, "file_clock", lambda _, now=now: now)
        assert (look() is not None) == count


def once(floor: Folders) -> Collected | None:
    return collect(Wanted(JOB, BEFORE, [], each=False), floor)


@pytest.mark.parametrize("content", [GOOD, GOOD[:60], b"no xml at all"], ids=["whole", "cut short", "none"])
def test_a_file_must_look_the_same_for_two_seconds_whatever_its_stamp(
    put: Any, floor: Folders, monkeypatch: Any, content: bytes
) -> None:
    """A stamp may be old while the file is still being written: nothing is said about it at the first look."""
    looked_at = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: looked_at)  # only what we say passes
    put(content, seconds=600)
    assert once(floor) is None

    time_passes(60)
    put(GOOD + b"<!-- more -->", seconds=600)  # it has grown meanwhile, and is stamped as before
    assert once(floor) is None

    time_passes(1.9)
    assert once(floor) is None
    time_passes(0.1)
    assert once(floor).solution == FIGURES


def test_a_folder_that_goes_away_between_two_looks_fails_nothing(look: Any, put: Any, monkeypatch: Any) -> None:
    put()

    def gone(_: Path) -> datetime:
        raise JobError(Code.UNKNOWN, "Cannot use the folder.")

    monkeypatch.setattr(collecting, "file_clock", gone)

    assert look() is None


@pytest.mark.parametrize(
    ("name", "count"),
    [
        (f"{JOB}.xml", 1),
        (f"{JOB}_solution.XML", 1),
        (f"OPTI-{JOB}-1.xml", 1),
        (f"{str(JOB).upper()}.xml", 1),
        (f"1{JOB}.xml", 0),
        (f"{JOB}0.xml", 0),
        (f"a{JOB}b.xml", 0),
        (f"{str(JOB)[:-1]}.xml", 0),
        ("98de6918-06bb-4996-9f02-cc0a8c98c72c.xml", 0),
        (f"{JOB}.xml.tmp", 0),
        (f".{JOB}.xml", 0),
        (f"~{JOB}.xml", 0),
        ("solution.xml", 0),
    ],
)
def test_the_job_id_must_be_a_whole_token(put: Any, look: Any, name: str, count: int) -> None:
    put(name=name)

    assert (look() is not None) == count


def test_an_older_attempts_file_is_left_alone(put: Any, look: Any, floor: Folders) -> None:
    put(name=f"{JOB}_old.xml", seconds=60)
    mark = file_clock(floor.export) - timedelta(seconds=30)
    assert look(newer_than=mark) is None

    new = put(name=f"{JOB}_new.xml", seconds=10)
    assert look(newer_than=mark).paths == (new,)


def test_of_two_the_newest_counts(put: Any, look: Any) -> None:
    put(name=f"{JOB}_b.xml", seconds=60)
    newest = put(name=f"{JOB}_a.xml", seconds=10)

    assert look().paths == (newest,)


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-16LE", "windows-1254", "ISO-8859-9"])
def test_files_of_other_encodings_are_read(put: Any, look: Any, encoding: str) -> None:
    bom = "\ufeff" if encoding == "UTF-16LE" else ""
    declared = "UTF-16" if encoding == "UTF-16LE" else encoding
    put((bom + XML.format(encoding=declared).replace("iki", "Gümüş ığ")).encode(encoding))

    assert look().solution["name"] == "Gümüş ığ"


@pytest.mark.parametrize("length", [0, 1, 30, 60, 200, len(GOOD) - 20, len(GOOD) - 3])
def test_a_half_written_file_is_not_ready_and_later_is(put: Any, look: Any, length: int) -> None:
    put(GOOD[:length], seconds=10)
    assert look() is None

    put(GOOD, seconds=10)
    assert look().solution == FIGURES


@pytest.mark.parametrize(
    ("length", "why"), [(0, "it is empty."), (1, "line "), (30, "line "), (len(GOOD) - 20, "line ")]
)
def test_a_file_that_stays_cut_short_is_invalid_in_the_end(put: Any, look: Any, length: int, why: str) -> None:
    put(GOOD[:length], seconds=60)

    assert reason(look).startswith(f"{JOB}.xml is not a solution: {why}")


def test_folders_links_and_pipes_named_xml_are_no_files(put: Any, look: Any, floor: Folders) -> None:
    elsewhere = age(put(name="elsewhere.xml"))
    (floor.export / f"{JOB}_dir.xml").mkdir()
    (floor.export / f"{JOB}_link.xml").symlink_to(elsewhere)
    os.mkfifo(floor.export / f"{JOB}_pipe.xml")

    assert look() is None

    put()
    assert look().paths == (floor.export / f"{JOB}.xml",)


def test_a_hundred_megabytes_are_refused_unread(put: Any, look: Any, floor: Folders) -> None:
    path = put(b"<a>")
    with path.open("r+b") as file:
        file.truncate(100 * 1024**2)
    age(path)
    tracemalloc.start()

    message = reason(look)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message == f"{JOB}.xml is not a solution: it is larger than 50 MB (KILIT_XML_MAX_MB)."
    assert peak < 2 * 1024**2


def test_a_large_solution_is_read_in_little_memory(put: Any, look: Any) -> None:
    pieces = b"".join(b'<Piece id="%d" text="some words about a piece"/>\n' % number for number in range(100_000))
    put(GOOD.replace(b"</OptiPlanning>", pieces + b"</OptiPlanning>"))
    del pieces
    tracemalloc.start()

    found = look()

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.solution == FIGURES
    assert peak < 2 * 1024**2


def test_a_file_that_changes_while_it_is_read_is_not_yet(put: Any, look: Any, monkeypatch: Any) -> None:
    path = put()
    read = collecting.read_solution

    def read_and_grow(chunks: Any) -> Any:
        figures = read(chunks)
        path.write_bytes(GOOD + b"<!-- more -->")
        return figures

    monkeypatch.setattr(collecting, "read_solution", read_and_grow)
    assert look() is None


SHEETS = (f"{JOB}_GOVDE_Beyaz_18mm.xlsx", f"{JOB}_GOVDE_Beyaz_8mm.xlsx")


def test_a_solution_of_one_sheet_is_not_taken_for_all(put: Any, look: Any, floor: Folders) -> None:
    """Also when the rules ask for one: the parts of the other sheets would never be cut."""
    put(name=f"{JOB}_GOVDE_Beyaz_18mm.xml")
    wanted = Wanted(JOB, BEFORE, SHEETS, each=False)
    assert look(*SHEETS) is None
    assert collecting.missing(wanted, floor) == [SHEETS[1]]

    put(name=f"{JOB}_GOVDE_Beyaz_8mm.xml")

    assert len(look(*SHEETS).paths) == 2
    assert collecting.missing(wanted, floor) == []


def test_a_solution_of_the_job_is_one_whatever_lies_beside_it(put: Any, look: Any) -> None:
    whole = put(name=f"{JOB}_solution.xml", seconds=60)
    put(name=f"{JOB}_GOVDE_Beyaz_18mm.xml")

    assert look(*SHEETS).paths == (whole,)


def test_a_job_of_one_sheet_takes_either_name(put: Any, look: Any) -> None:
    named = put(name=f"{JOB}_GOVDE_Beyaz_18mm.xml")

    assert look(SHEETS[0]).paths == (named,)


def test_a_name_within_a_name_is_not_taken_for_it(put: Any, look: Any) -> None:
    """The shorter sheet waits for its own, though the longer one's solution holds its name, too."""
    sheets = (f"{JOB}_GOVDE_Gumus.xlsx", f"{JOB}_GOVDE_Gumus_1f2e.xlsx")
    put(name=f"{JOB}_GOVDE_Gumus_1f2e.xml")
    assert look(*sheets, each=True) is None

    put(name=f"{JOB}_GOVDE_Gumus.xml")

    assert len(look(*sheets, each=True).paths) == 2


def test_one_for_each_sheet_when_the_rules_say_so(put: Any, look: Any, floor: Folders) -> None:
    put(name=f"{JOB}_GOVDE_Beyaz_18mm_solution.xml")
    put(name=f"{JOB}_GOVDE_Beyaz_18mm.xml", seconds=9)
    assert look(*SHEETS, each=True) is None

    put(name=f"{JOB}_GOVDE_Beyaz_8mm.xml")
    found = look(*SHEETS, each=True)

    assert [path.name for path in found.paths] == [f"{JOB}_GOVDE_Beyaz_18mm.xml", f"{JOB}_GOVDE_Beyaz_8mm.xml"]
    assert (found.solution["patterns"], found.solution["boards_m2"]) == (14, "35.28")
    assert found.sha256 == hashlib.sha256(GOOD + GOOD).hexdigest()


def test_the_clock_is_the_folders_own(floor: Folders, mounted: Any) -> None:
    now = file_clock(floor.export)
    (floor.export / "after").touch()

    assert now.timestamp() <= (floor.export / "after").stat().st_mtime
    assert [path.name for path in floor.export.iterdir()] == ["after"]

    mounted(floor.export, "ro")
    assert abs(file_clock(floor.export) - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_clock_of_a_folder_that_is_gone_is_reported(floor: Folders) -> None:
    floor.export.rmdir()

    with pytest.raises(JobError, match="No such file or directory"):
        file_clock(floor.export)
