"""Which board to take: what the plan says stands on the cutting sheet, the job's page, the estimate and in the API."""

from typing import Any

import pytest

from config.papers.content import PaperRequest, paper_request
from orchestrator.models import Job
from tests.support.cutting_jobs import page_of
from tests.support.cutting_runs import work_until
from tests.support.stock import RULES, SMALL, offcut, ordered, plan_quickly

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("customer", "shop")]
BOARDS = [
    {**SMALL, "id": "w1", "color": "Beyaz", "thickness_mm": 18},
    {**SMALL, "id": "w2", "color": "Antrasit", "thickness_mm": 18},
    {**SMALL, "id": "w3", "color": "Beyaz", "thickness_mm": 5},
]


@pytest.fixture
def shop(settings: Any, tmp_path: Any, monkeypatch: Any) -> None:
    settings.OPTI_RULES = tmp_path / "rules.json"
    settings.OPTI_RULES.write_text(RULES)
    plan_quickly(monkeypatch)


@pytest.fixture
def job(shop: None, floor: Any) -> Job:
    return work_until(ordered(*BOARDS), "XML_READY")


def test_each_board_is_named_by_material_colour_and_thickness(job, make_person, make_api) -> None:
    names = ["MAT-01 · Beyaz · 18 mm", "MAT-01 · Antrasit · 18 mm", "MAT-01 · Beyaz · 5 mm"]

    sheet = paper_request(job, "cutting_sheet", PaperRequest())
    page = page_of(make_person(), job).text
    patterns = make_api().get(f"jobs/{job.pk}").json()["job"]["patterns"]

    assert [plan["material"] for plan in sheet.variables["plans"]] == names
    assert all(name in sheet.document.html(sheet.variables) and name in page for name in names)
    assert [(board["color"], board["thickness_mm"]) for board in patterns] == [
        ("Beyaz", 18),
        ("Antrasit", 18),
        ("Beyaz", 5),
    ]
    assert [[part["part_id"] for part in board["parts"]] for board in patterns] == [["w1"], ["w2"], ["w3"]]


def test_an_offcut_is_named_by_code_and_place(floor, make_person, make_api) -> None:
    rest = offcut(1300, 500, place="R2")
    job = work_until(ordered(SMALL), "XML_READY")

    sheet = paper_request(job, "cutting_sheet", PaperRequest())
    page = page_of(make_person(), job).text
    (board,) = make_api().get(f"jobs/{job.pk}").json()["job"]["patterns"]

    assert sheet.variables["plans"][0]["taken"] == [{"code": rest.code, "place": "R2"}]
    assert "Stoktaki artan parçadan kesilir: <strong" in sheet.document.html(sheet.variables)
    assert f"Offcut {rest.code} · R2" in page
    assert board["from_offcuts"] == [{"code": rest.code, "place": "R2"}]
    assert (board["length"], board["width"]) == (1300, 500)


def test_boards_of_solutions_that_do_not_name_them_are_named_by_their_parts(job) -> None:
    """Solutions of OptiPlanning, and plans that were stored before they named colour and thickness."""
    file = job.solution_files.get()
    content = bytes(file.content).replace(b' color="Antrasit" thickness="18"', b"")
    job.solution_files.update(content=content)

    plans = paper_request(job, "cutting_sheet", PaperRequest()).variables["plans"]

    assert [plan["material"] for plan in plans][1] == "MAT-01 · Antrasit · 18 mm"
