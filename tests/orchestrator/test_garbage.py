"""Whatever comes in from outside gets an answer in words, never an exception of another kind."""

import json
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.errors import Code, JobError
from orchestrator.folders import Folders, read_command
from orchestrator.optiplanning.collecting import Collected, Wanted
from orchestrator.optiplanning.solution import InvalidSolution, read_solution
from orchestrator.orders.order import read_order
from orchestrator.planning.excel.template import open_template
from orchestrator.planning.rules import InvalidRules, read_rules
from orchestrator.schemas.orders import UNSAFE_CHARS, InvalidOrder, Order
from orchestrator.schemas.rules import Rules
from tests.support.cutting_jobs import ARKALIK, GOVDE, order_body
from tests.support.cutting_rules import SHIPPED as RULES
from tests.support.examples import few
from tests.support.floor import BEFORE, GOOD, JOB, age, collect_twice
from tests.support.garbage import answer, damaged, spoilt, values
from tests.support.sheets import TEMPLATE


@example(order_body(parts=[GOVDE | {"quantity": "2"}]))
@given(spoilt(order_body(parts=[GOVDE, ARKALIK], plate_size={"width_mm": 1, "height_mm": 2})) | values)
def test_every_order_is_read_or_rejected_with_a_message(body: Any) -> None:
    found = answer(read_order, body, default_mode="C", refusal=InvalidOrder)

    lines = getattr(found, "lines", [])
    assert isinstance(found, Order) or lines
    assert all(": " in line and not UNSAFE_CHARS.search(line) for line in lines)


@given(spoilt(RULES).map(lambda rules: json.dumps(rules).encode()) | damaged(json.dumps(RULES, indent=2).encode()))
def test_all_rules_are_read_or_rejected_with_a_message(content: bytes) -> None:
    found = answer(read_rules, content, refusal=InvalidRules)

    assert isinstance(found, Rules) or str(found)


@given(damaged(GOOD) | st.binary(max_size=200))
def test_every_file_is_a_solution_or_rejected_with_a_message(content: bytes) -> None:
    found = answer(read_solution, [content[:50], content[50:]], refusal=InvalidSolution)

    assert isinstance(found, dict) or str(found)


@few(50)
@given(damaged(GOOD) | st.binary(max_size=200))
def test_the_collector_answers_whatever_lies_there(floor: Folders, content: bytes) -> None:
    path = floor.export / f"{JOB}.xml"
    path.write_bytes(content)
    age(path, 60)

    found = answer(collect_twice, Wanted(JOB, BEFORE, (), each=False), floor, refusal=JobError)

    assert isinstance(found, Collected) or found.code == Code.XML_INVALID


@few(50)
@given(damaged(Path(TEMPLATE).read_bytes()))
def test_every_template_is_opened_or_rejected_with_a_message(content: bytes) -> None:
    found = answer(open_template, content, refusal=JobError)

    assert isinstance(found, tuple) or found.code == Code.TEMPLATE_INVALID


@given(st.text())
def test_every_command_line_is_read_or_none(line: str) -> None:
    assert isinstance(read_command(line), tuple)
