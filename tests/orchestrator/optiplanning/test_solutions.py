"""What is in a solution, and what is none."""

from typing import Any

import pytest

from orchestrator.optiplanning import collecting
from orchestrator.optiplanning.solution import merge_figures, read_plan
from tests.support.floor import GOOD, reason

BOMB = b"""<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<b><Solution best="1" name="&b;"/></b>"""


EXTERNAL = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a><Solution>&x;</Solution></a>'


EXTERNAL_DTD = b'<?xml version="1.0"?><!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><a><Solution>&x;</Solution></a>'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"<a><Solution></a>", "line 1: mismatched tag"),
        (b"no xml at all", "line 1: syntax error"),
        (b"<a><b/></a><a/>", "line 1: junk after document element"),
        (b"<OptiPlanning/>", "it has no content"),
        (b"<OptiPlanning>text</OptiPlanning>", "it has no content"),
        (b"<a>\n<b>\x01</b></a>", "line 2: not well-formed (invalid token)"),
        (b'<?xml version="1.0" encoding="nobody-knows"?><a><b/></a>', "unknown encoding"),
        (b"<a>" * 5000, "it is nested more than 200 levels deep"),
        (BOMB, "it declares entities or refers to other files"),
        (EXTERNAL, "it declares entities or refers to other files"),
        (EXTERNAL_DTD, "it declares entities or refers to other files"),
        (GOOD[:-3] + b"\xff\xfe", "line"),
    ],
)
def test_a_file_at_rest_that_is_none_is_invalid(put: Any, look: Any, content: bytes, expected: str) -> None:
    put(content)

    assert expected in reason(look)


def test_an_invalid_file_still_being_written_is_not_yet(put: Any, look: Any) -> None:
    put(b"<a><Solution></a>", seconds=-60)

    assert look() is None


@pytest.mark.parametrize("zeros", [1, 300, 2 * collecting.CHUNK])
@pytest.mark.parametrize("begun", [b"", b"<a><Solution be", GOOD[:-9], GOOD], ids=["nothing", "half", "most", "all"])
def test_zeros_at_the_end_are_what_is_not_copied_yet(put: Any, look: Any, begun: bytes, zeros: int) -> None:
    """Some copies have their full size from the beginning; E_XML_INVALID is for good, so they get longer."""
    put(begun + b"\0" * zeros)
    assert look() is None

    put(begun + b"\0" * zeros, seconds=60)
    assert "is not a solution: line" in reason(look)


def test_zeros_in_the_middle_were_written(put: Any, look: Any) -> None:
    put(b"<a><Solution>\0</Solution></a>")

    assert "invalid token" in reason(look)


def test_a_solution_without_figures_is_one(put: Any, look: Any) -> None:
    put(b"<Plan><Board/></Plan>")

    assert look().solution == {}


def test_the_only_solution_is_the_best_and_of_several_unmarked_none_is(put: Any, look: Any) -> None:
    put(b'<a><ns:Solution xmlns:ns="u" patterns="3" mqBoards="x" zcuts="-1" jobTime="1e5"/></a>')
    assert look().solution == {"patterns": 3}

    put(b'<a><Solution patterns="3"/><Solution patterns="4"/></a>')
    assert look().solution == {}


@pytest.mark.parametrize("count", ["1,234", "1.234", "12.0", "-1", "1e3", "٣", "3 4", "9" * 13, ""])
def test_a_count_is_digits_or_left_out(put: Any, look: Any, count: str) -> None:
    """1,234 may be a thousand or a decimal."""
    put(f'<a><Solution patterns="{count}" zcuts=" 81 " mqBoards="17,64"/></a>'.encode())

    assert look().solution == {"cuts": 81, "boards_m2": "17.64"}


@pytest.mark.parametrize("best", ["1", "true", "True", " TRUE "])
def test_the_best_is_marked_in_any_case(put: Any, look: Any, best: str) -> None:
    put(f'<a><Solution best="0" patterns="3"/><Solution best="{best}" patterns="4"/></a>'.encode())

    assert look().solution == {"patterns": 4}


BOARD = '<Pattern boards="2" material="MDF" length="2800" width="2100,5"/>'


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        # 2.8 × 2.1005 × 2 = 11.7628, 2.8 × 2.1 = 5.88
        (BOARD + '<Pattern material="HDF" length="2800" width="2100"/>', {"MDF": "11.7628", "HDF": "5.88"}),
        (BOARD + BOARD, {"MDF": "23.5256"}),
        (BOARD + '<Pattern material="HDF" length="2800"/>', None),
        (BOARD + '<Pattern length="2800" width="2100"/>', None),
        (BOARD + BOARD.replace('"2"', '"two"'), None),
    ],
)
def test_boards_are_added_up_by_material_unless_one_is_unknown(
    put: Any, look: Any, patterns: str, expected: Any
) -> None:
    others = '<Solution best="0"><Pattern material="MDF" length="9" width="9"/></Solution>'
    put(f'<a>{others}<Solution best="1" mqBoards="5,88">{patterns}</Solution>{others}</a>'.encode())

    assert look().solution.get("boards_by_material") == expected


def test_boards_of_several_solutions_are_added_up_if_each_has_them() -> None:
    one, two = {"boards_by_material": {"MDF": "5.88"}}, {"boards_by_material": {"MDF": "5.88", "HDF": "1"}}

    assert merge_figures([one, two]) == {"boards_by_material": {"MDF": "11.76", "HDF": "1"}}
    assert merge_figures([one, two, {}]) == {}


@pytest.mark.parametrize(("written", "thickness"), [("18.0", "18"), ("18,5", "18.5"), ("18 mm", ""), ("nan", "")])
def test_a_thickness_is_read_as_orders_write_it_or_not_at_all(written: str, thickness: str) -> None:
    pattern = f'<Pattern length="2800" width="2100" material="MDF" thickness="{written}"/>'

    plan = read_plan(f'<a><Solution best="1">{pattern}</Solution></a>'.encode())

    assert [each.thickness for each in plan.patterns] == [thickness]
    assert plan.chosen["boards_by_material"] == {f"MDF {thickness} mm" if thickness else "MDF": "5.88"}
