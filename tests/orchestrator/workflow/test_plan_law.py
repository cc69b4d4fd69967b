"""A plan that is not of its order is not cut, and amounts that do not add up are not charged."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from kilit.audit.run import audit
from kilit.problems.registry import SeesEverything, find_problems
from kilit.sentences import english
from orchestrator.figures import job_figures
from orchestrator.models import Job, StockItem
from orchestrator.workflow import planning_step
from tests.support.cutting_jobs import GOVDE
from tests.support.cutting_rules import PRICES, SHIPPED, text_with
from tests.support.cutting_runs import work_until
from tests.support.stock import kind_of_board, ordered, plan_quickly

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("customer", "shop")]
PARTS = [GOVDE, {**GOVDE, "id": "thin", "thickness_mm": 5}]
SHOP = {**SHIPPED, "cutBy": "hand", "stock": {}, "prices": {**PRICES, "boardPerM2": {"*": 450, "* 5mm": 120}}}


@pytest.fixture
def shop(floor: Any, rules_file: Any, monkeypatch: Any) -> None:
    rules_file.write_text(text_with(**SHOP))
    plan_quickly(monkeypatch)


def altered(change: Callable[[bytes], bytes], monkeypatch: Any) -> None:
    """Let plans be written wrongly."""
    write = planning_step.write_solution
    monkeypatch.setattr(planning_step, "write_solution", lambda *args: change(write(*args)))


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ('thickness="5"', 'thickness="18"', "thin is on a board of MAT-01 · Beyaz · 18 mm"),
        ('color="Beyaz"', 'color="Meşe"', "g1 is on a board of MAT-01 · Meşe · 18 mm"),
        ('material="MAT-01"', 'material="MAT-02"', "g1 is on a board of MAT-02 · Beyaz · 18 mm"),
        ('name="thin"', 'name="g1"', "g1 is on a board of MAT-01 · Beyaz · 5 mm"),
        ('name="thin"', 'name="other"', "pieces of "),
        ('boards="1"', 'boards="2"', "4 pieces of "),
        ('length="1205"', 'length="1204.9"', "g1 is 1204.9 × 400 mm"),
    ],
)
def test_a_plan_that_is_not_of_its_order_is_not_cut(monkeypatch, before: str, after: str, fault: str) -> None:
    kind_of_board(3)
    altered(lambda content: content.replace(before.encode(), after.encode()), monkeypatch)

    job = work_until(ordered(*PARTS), "FAILED")

    assert job.error_code == "E_OPTIMISER_FAILED"
    assert english(job.error_message).startswith("The plan is not of the order: ")
    assert fault in english(job.error_message)
    assert not job.solution_files.exists()
    assert set(StockItem.objects.values_list("status", flat=True)) == {"AVAILABLE"}
    assert any(problem.code == "E_OPTIMISER_FAILED" for problem in find_problems(SeesEverything()))


def test_a_job_whose_amounts_do_not_add_up_is_not_cut(monkeypatch) -> None:
    share = job_figures._with_boards

    def swapped(*args: Any) -> Iterator[Any]:
        """Charge each thickness the boards of the other."""
        materials = list(share(*args))
        areas = [material.boards_m2 for material in reversed(materials)]
        yield from (
            replace(material, boards_m2=area and area + number)
            for number, (material, area) in enumerate(zip(materials, areas, strict=True))
        )

    monkeypatch.setattr(job_figures, "_with_boards", swapped)

    job = work_until(ordered(*PARTS), "FAILED")

    assert job.error_code == "E_OPTIMISER_FAILED"
    assert english(job.error_message).startswith("The amounts do not add up: ")


def test_the_audit_names_a_job_whose_stored_plan_was_changed() -> None:
    job = work_until(ordered(*PARTS), "XML_READY")
    assert audit(full=True).breaches == []
    content = bytes(job.solution_files.get().content).replace(b'boards="1"', b'boards="2"')
    job.solution_files.update(content=content)

    (breach,) = audit(full=True).breaches

    assert (breach["queue"], job.order_id in breach["details"]) == ("cutting_job", True)
    assert Job.objects.get(pk=job.pk).status == "XML_READY"
