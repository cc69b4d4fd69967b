"""The simulator plays OptiPlanning and the saw in real folders, with faults on request."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError

from orchestrator.errors import Code, JobError
from orchestrator.folders import Folders
from orchestrator.models import Job
from orchestrator.saw.delivery import acknowledged, delivery_name, withdraw
from simulators.optiplanning import play
from tests.support.cutting_jobs import make_job
from tests.support.cutting_rules import SHIPPED
from tests.support.floor import Floor, age

pytestmark = pytest.mark.django_db


def test_sheets_become_a_solution_and_the_saw_takes_it(here: Floor) -> None:
    here.write()
    assert here.simulate() == f"OptiPlanning wrote {here.job}_solution.xml.\n"

    name = here.deliver()
    assert acknowledged(name, here.folders) is None
    assert here.simulate() == f"The saw took {name}.\n"

    assert acknowledged(name, here.folders) is True
    figures = here.collect().solution
    assert (figures["algo"], figures["patterns"], figures["boards_m2"]) == ("BEST", 2, "11.76")
    # Area: 2 × 1.205 × 0.4 + 1.18 × 0.3825 m², on a board of each material.
    assert figures["drops_m2"] == "10.34"


@pytest.mark.parametrize(("width", "height"), [(1830, 3660), (3660, 1830)])
def test_the_plate_of_the_order_is_cut(here: Floor, width: int, height: int) -> None:
    job = make_job(plate_size={"width_mm": width, "height_mm": height})
    Job.objects.filter(pk=job.pk).update(plate_size={"width_mm": str(width), "height_mm": str(height)})
    here.job = job.pk
    here.write()

    here.simulate()

    solution = (here.folders.export / f"{job.pk}_solution.xml").read_text()
    assert 'length="3660" width="1830"' in solution
    assert 'mqBoards="13.40"' in solution  # two boards of 6.6978 m²


def test_mode_a_gets_the_plate_as_arguments(here: Floor) -> None:
    here.write()
    sheets = [str(path) for path in here.folders.imports.iterdir()]

    play.main(["--export", str(here.folders.export), "--plate", "1830", "3660", *sheets])

    assert 'length="3660" width="1830"' in (here.folders.export / f"{here.job}_solution.xml").read_text()


def test_what_is_solved_is_not_solved_again_unless_by_hand(here: Floor) -> None:
    here.write()
    here.simulate()
    assert here.simulate() == ""

    assert here.simulate(job=str(here.job)) == f"OptiPlanning wrote {here.job}_solution.xml.\n"
    with pytest.raises(CommandError, match="No sheet of"):
        here.simulate(job=str(uuid4()))


def test_delays_are_kept(here: Floor) -> None:
    sheets = here.write()
    assert here.simulate(opti_delay=100) == ""
    for sheet in sheets:
        age(sheet, 200)
    assert here.simulate(opti_delay=100) != ""

    name = here.deliver()
    assert here.simulate(saw_delay=100) == ""
    age(here.folders.inbox / name, 200)
    assert here.simulate(saw_delay=100) == f"The saw took {name}.\n"


def test_one_machine_can_be_played_alone(here: Floor) -> None:
    here.write()

    assert here.simulate(only="saw") == ""
    assert "OptiPlanning wrote" in here.simulate(only="opti")


@pytest.mark.parametrize("by", ["argument", "wish"])
@pytest.mark.parametrize("fault", ["silent", "wrong-job", "crash"])
def test_no_solution_of_this_job(here: Floor, fault: str, by: str) -> None:
    here.write(wish=f"Yan panel sim:{fault}" if by == "wish" else "")

    here.simulate(opti_fault=fault if by == "argument" else None)
    here.rest()

    assert here.collect() is None


def test_an_invalid_solution(here: Floor) -> None:
    here.write(wish="sim:invalid")
    here.simulate()
    here.rest()

    with pytest.raises(JobError) as fault:
        here.collect()
    assert fault.value.code == Code.XML_INVALID


def test_a_solution_written_in_two_halves_is_taken_when_it_is_whole(here: Floor) -> None:
    sheets = here.write()
    pauses = []

    def look(_: float) -> None:
        # In the middle of writing, and long enough ago to be at rest.
        here.rest()
        pauses.append(here.collect())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(play.time, "sleep", look)
        play.solve(sheets, here.folders.export, fault="half")
    here.rest()

    assert pauses == [None]
    assert here.collect().solution["algo"] == "BEST"


def test_a_solution_in_utf_16(here: Floor) -> None:
    here.write(wish="sim:utf-16")
    here.simulate()
    here.rest()

    assert here.collect().solution["algo"] == "BEST"


def test_a_solution_for_each_sheet(here: Floor, settings: Any, tmp_path: Path) -> None:
    settings.OPTI_RULES = tmp_path / "rules.json"
    settings.OPTI_RULES.write_text(json.dumps({**SHIPPED, "xml_expected": "batch"}))
    sheets = [sheet.name for sheet in here.write()]

    here.simulate()
    here.rest()

    found = here.collect(*sheets)
    assert len(found.paths) == 2
    assert found.solution["boards_m2"] == "11.76"
    assert len({delivery_name(here.job, 1, path) for path in found.paths}) == 2


@pytest.mark.parametrize("by", ["argument", "wish"])
def test_the_saw_refuses(here: Floor, by: str) -> None:
    here.write(wish="sim:saw-failed" if by == "wish" else "")
    here.simulate()
    name = here.deliver()

    output = here.simulate(saw_fault="failed" if by == "argument" else None)

    assert output == f"The saw refused {name}.\n"
    assert acknowledged(name, here.folders) is False


def test_the_saw_answers_late(here: Floor) -> None:
    here.write(wish="sim:saw-late")
    here.simulate()
    name = here.deliver()
    assert here.simulate(late=300) == ""

    age(here.folders.inbox / name, 400)
    assert here.simulate(late=300) == f"The saw took {name}.\n"
    assert withdraw(name, here.folders) is True


def test_the_saw_never_answers_and_the_file_is_taken_back(here: Floor) -> None:
    here.write(wish="sim:saw-mute")
    here.simulate()
    name = here.deliver()
    age(here.folders.inbox / name, 4000)
    assert here.simulate() == ""

    assert withdraw(name, here.folders) is None
    assert here.simulate() == ""
    assert acknowledged(name, here.folders) is None


def test_files_that_are_no_sheets_are_left_alone(here: Floor) -> None:
    (here.folders.imports / "notes.xlsx").write_bytes(b"no sheet")
    (here.folders.imports / f"{here.job}_GOVDE_x_18mm.xlsx").write_bytes(b"no sheet")

    assert "OptiPlanning cannot read the sheets of" in here.simulate()


def test_folders_that_are_missing_are_named(floor: Folders, settings: Any, tmp_path: Path) -> None:
    settings.KILIT_VAR = tmp_path / "var"
    settings.OPTI_EXPORT_FOLDER = tmp_path / "nowhere"
    floor_here = Floor(floor)
    floor_here.write()

    with pytest.raises(CommandError, match="No such file or directory"):
        floor_here.simulate()


def test_the_wish_of_one_order_is_not_anothers(here: Floor) -> None:
    here.write(wish="sim:silent")
    other = Floor(here.folders)
    other.write()

    output = here.simulate()

    assert str(here.job) not in output
    assert f"OptiPlanning wrote {other.job}_solution.xml." in output
