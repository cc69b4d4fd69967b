"""All sheets of a job appear together or not at all."""

import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import Code, JobError
from orchestrator.folders import Folders
from orchestrator.planning.excel.writing import write_files
from tests.support.cutting_jobs import ARKALIK, GOVDE
from tests.support.floor import JOB
from tests.support.sheets import coloured, names_in, plan_of


def test_a_full_disk_leaves_nothing_half_written(floor: Folders, full_disk: Any) -> None:
    with full_disk(), pytest.raises(JobError) as fault:
        write_files(JOB, plan_of(GOVDE, ARKALIK), floor)

    assert fault.value.code == Code.UNKNOWN
    assert str(floor.imports) in fault.value.message
    assert names_in(floor.imports) == []


def test_a_full_temporary_folder_is_not_blamed_on_the_import_folder(floor: Folders, full_disk: Any) -> None:
    with full_disk(1000), pytest.raises(JobError) as fault:
        write_files(JOB, plan_of(GOVDE, ARKALIK), floor)

    assert f"the folder {tempfile.gettempdir()}:" in fault.value.message
    assert names_in(floor.imports) == []


def test_a_really_full_disk_leaves_nothing_half_written(floor: Folders, mounted: Any) -> None:
    mounted(floor.imports)

    with pytest.raises(JobError, match="No space left on device"):
        write_files(JOB, coloured(*(f"Renk {n}" for n in range(40))), floor)

    assert names_in(floor.imports) == []


def test_a_read_only_folder_fails_cleanly(floor: Folders, mounted: Any) -> None:
    mounted(floor.imports, "ro")

    with pytest.raises(JobError, match="Read-only file system"):
        write_files(JOB, plan_of(GOVDE), floor)

    assert names_in(floor.imports) == []


def test_a_folder_that_is_gone_is_named(floor: Folders) -> None:
    shutil.rmtree(floor.imports)

    with pytest.raises(JobError, match="No such file or directory"):
        write_files(JOB, plan_of(GOVDE), floor)


def test_when_one_file_cannot_be_placed_the_folder_is_as_before(floor: Folders) -> None:
    first, second = write_files(JOB, plan_of(GOVDE, ARKALIK), floor)
    before = (floor.imports / first["name"]).read_bytes()
    (floor.imports / second["name"]).unlink()
    (floor.imports / second["name"]).mkdir()

    with pytest.raises(JobError, match="Is a directory"):
        write_files(JOB, plan_of({**GOVDE, "quantity": 9}, {**ARKALIK, "quantity": 9}), floor)

    assert (floor.imports / first["name"]).read_bytes() == before
    assert names_in(floor.imports) == sorted([first["name"], second["name"]])


def test_a_job_that_is_lost_half_way_leaves_nothing(floor: Folders) -> None:
    calls = []

    def lose() -> None:
        calls.append(1)
        if len(calls) == 2:
            raise LookupError("the claim is somebody else's")

    with pytest.raises(LookupError):
        write_files(JOB, coloured("a", "b", "c"), floor, keep_alive=lose)

    assert names_in(floor.imports) == []


@pytest.mark.processes
def test_killed_half_way_no_sheet_shows_and_another_writes_them_all(floor: Folders) -> None:
    plan = coloured("a", "b", "c")
    child = os.fork()
    if child == 0:
        write_files(JOB, plan, floor, keep_alive=lambda: os.kill(os.getpid(), signal.SIGKILL))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    left = names_in(floor.imports)
    assert len(left) == 1
    assert not any(name.endswith(".xlsx") for name in left)
    an_old_day = 1_000_000
    os.utime(floor.imports / left[0], (an_old_day, an_old_day))

    written = write_files(JOB, plan, floor)

    assert names_in(floor.imports) == sorted(sheet["name"] for sheet in written)


def test_a_link_in_the_folder_is_replaced_not_followed(floor: Folders, tmp_path: Path) -> None:
    outside = tmp_path / "outside.xlsx"
    outside.write_bytes(b"somebody else's")
    (name,) = (sheet["name"] for sheet in write_files(JOB, plan_of(GOVDE), floor))
    (floor.imports / name).unlink()
    (floor.imports / name).symlink_to(outside)

    write_files(JOB, plan_of(GOVDE), floor)

    assert outside.read_bytes() == b"somebody else's"
    assert not (floor.imports / name).is_symlink()
