"""The cutting plan on a job's page: boards drawn from the solution, or a table of its figures."""

import re
from decimal import Decimal

import pytest
from django.utils.translation import override

from orchestrator.admin.figures import figure_cells
from orchestrator.models import Job
from orchestrator.optiplanning.solution import MOST_PATTERNS, MOST_PIECES, read_plan
from simulators.optiplanning.play import Work, solution_xml
from tests.support.cutting_jobs import CUTTING_JOBS, make_job, page_of

pytestmark = pytest.mark.django_db

SOLUTIONS = """<OptiPlanning><Solutions>
  <Solution name="one" algo="SPEED" best="0" mqBoards="11.76" mqDrops="4" zcuts="90" jobTime="900" jobCost="2822.4"/>
  <Solution name="two" algo="BEST" best="1" mqBoards="5,88" mqDrops="0.94" patterns="1" zcuts="81" jobTime="754.5">{}
  </Solution>
</Solutions></OptiPlanning>"""
BOARD = """<Pattern boards="2" material="MDF-18" length="2800" width="2100">
  <Part name="GOVDE_g1_TRIM_10.00" x="0" y="0" length="1205.5" width="400"/>
  <Part name="GOVDE_g1_TRIM_10.00" x="1205.5" y="0" length="1205.5" width="400"/>
  <Part name="narrow" x="0" y="400" length="60" width="1700"/>
  <Drop x="2411" y="0" length="389" width="400"/>
</Pattern>"""


def solved(content: str) -> Job:
    job = CUTTING_JOBS.row_in("DONE")
    Job.objects.filter(pk=job.pk).update(payload=make_job().payload, solution={"boards_m2": "5.88", "cuts": 81})
    job.solution_files.create(name="solution.xml", content=content.encode(), sha256=f"{hash(content):064x}"[-64:])
    return job


def test_each_board_is_drawn_with_its_parts_and_waste(make_person) -> None:
    shown = page_of(make_person(role="viewer"), solved(SOLUTIONS.format(BOARD)))

    (plan,) = shown.context["plans"]
    (board,) = plan.boards
    assert board.title == "Pattern 1 · MDF-18 · Beyaz · 18 mm · 2800 × 2100 mm · 2 boards · 3 parts · 18 % used"
    assert board.contents == ["g1: 1205.5 × 400 mm × 2", "narrow: 60 × 1700 mm", "Offcut: 389 × 400 mm"]
    (svg,) = re.findall(r'<svg class="kilit-board".*?</svg>', shown.text, re.DOTALL)
    assert 'viewBox="-8 -8 2816 2116"' in svg
    assert 'role="img"' in svg
    assert f'aria-label="{board.title}"' in svg
    assert (svg.count('class="kilit-piece"'), svg.count('class="kilit-drop"')) == (3, 1)
    assert "style=" not in svg


def test_numbers_in_a_drawing_are_the_same_in_every_language(make_person) -> None:
    client = make_person(role="viewer")
    client.cookies["django_language"] = "tr"

    shown = page_of(client, solved(SOLUTIONS.format(BOARD))).text

    assert 'width="1205.5"' in shown
    assert "5,88" in shown, "in the table they are the reader's"


def test_the_chosen_solution_stands_beside_the_rejected_ones(make_person) -> None:
    shown = page_of(make_person(role="viewer"), solved(SOLUTIONS.format("")))

    (plan,) = shown.context["plans"]
    (chosen, its), (rejected, others) = plan.rows
    assert (chosen, rejected) == ("Chosen", "Rejected")
    assert dict(its) == {
        "Boards": "5.88 m²",
        "Without offcuts": "84 %",
        "Offcuts": "0.94 m²",
        "Patterns": "1",
        "Cuts": "81",
        "Machine time": "12.6 min",
        "Cost in OptiPlanning": "–",
        "Algorithm": "BEST",
    }
    assert dict(others)["Cost in OptiPlanning"] == "2,822.40"
    assert plan.boards == []
    assert "<svg class=" not in shown.text.split('id="job-solution"')[1]


def test_a_file_without_a_solution_shows_the_stored_figures(make_person) -> None:
    shown = page_of(make_person(role="viewer"), solved("<a>"))

    assert shown.context["plans"] == []
    assert shown.context["figures"]


def test_names_from_the_file_are_escaped(make_person) -> None:
    evil = BOARD.replace("narrow", "&lt;script&gt;alert(1)&lt;/script&gt;").replace("MDF-18", "&quot;&gt;&lt;b&gt;")
    evil = evil.replace("GOVDE_g1_TRIM_10.00", "&lt;i&gt;x")  # of a part that is large enough for its name

    shown = page_of(make_person(role="viewer"), solved(SOLUTIONS.format(evil))).text

    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(1)" in shown
    assert '"><b>' not in shown
    assert "<i>x" not in shown
    assert shown.count(">&lt;i&gt;x</text>") == 2


@pytest.mark.parametrize(
    "broken",
    [
        '<Pattern length="0" width="2100"><Part x="0" y="0" length="1" width="1"/></Pattern>',
        '<Pattern length="NaN" width="2100"/>',
        '<Pattern length="1e9" width="99999"/>',
        '<Part x="0" y="0" length="1" width="1"/>',
    ],
)
def test_a_board_without_a_size_is_not_drawn(broken: str) -> None:
    assert read_plan(SOLUTIONS.format(broken).encode()).patterns == []


def test_parts_without_a_place_are_left_out() -> None:
    inside = '<Part name="a" x="-1" y="0" length="5" width="5"/><Part name="b" x="1" y="2" length="3,5" width="4"/>'

    (pattern,) = read_plan(SOLUTIONS.format(f'<Pattern length="9" width="9">{inside}</Pattern>').encode()).patterns

    assert [(part.name, part.x, part.length) for part in pattern.parts] == [("b", 1, 3.5)]


def test_very_many_boards_and_parts_are_cut_short() -> None:
    part = '<Part x="0" y="0" length="1" width="1"/>'
    many = f'<Pattern length="9" width="9">{part * 50}</Pattern>' * (MOST_PATTERNS + 5)

    plan = read_plan(SOLUTIONS.format(many).encode())

    assert plan.is_cut_short
    assert len(plan.patterns) <= MOST_PATTERNS
    assert sum(len(pattern.parts) for pattern in plan.patterns) <= MOST_PIECES


def test_several_solutions_of_which_none_is_marked_are_all_rejected_ones() -> None:
    plan = read_plan(b'<a><Solution zcuts="1"/><Solution zcuts="2"/></a>')

    assert (plan.chosen, len(plan.rejected)) == (None, 2)


def test_the_share_without_offcuts_needs_both_figures() -> None:
    with override("en"):
        assert dict(figure_cells({"boards_m2": "0", "drops_m2": "1"}))["Without offcuts"] == "–"
        assert dict(figure_cells({"boards_m2": "5"}))["Without offcuts"] == "–"


def test_the_simulator_places_every_piece_on_a_board() -> None:
    pieces = [(f"GOVDE_p{number}_TRIM_10.00", Decimal(900 - 7 * number), Decimal(610)) for number in range(20)]
    work = Work(pieces=20, area_m2=Decimal(8), pieces_by_board={(0, "MDF"): pieces})

    plan = read_plan(solution_xml("job", work).encode())

    placed = [part for pattern in plan.patterns for part in pattern.parts]
    assert len(placed) == 20
    assert all(part.x + part.length <= 2800 and part.y + part.width <= 2100 for part in placed)
    for pattern in plan.patterns:
        areas = sum(each.length * each.width for each in [*pattern.parts, *pattern.drops])
        assert areas <= 2800 * 2100
