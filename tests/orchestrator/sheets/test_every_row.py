"""Every row of a sheet is a part of the order, shown as not read, or a fault: read again here by Python's csv alone."""

import csv
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.db import connection

from orchestrator.sheets.order_builder import OrderBuilder
from orchestrator.sheets.sheet_order import CellFault
from tests.support.order_sheets import origin, read, send

PARTS = 200
HEAD = "Length,Width,Qty,Material,Label,Enabled\n"
PROGRAM = HEAD + "".join(
    f"{500 + number},{300 + number}.5,{number % 9 + 1},MDF-18,part {number},{'false' if number % 7 == 3 else 'true'}\n"
    for number in range(PARTS)
)
LIST = "18MM;RENK: Beyaz\n" + "".join(
    "\n" if number % 11 == 5 else f"note {number};{500 + number};{300 + number},5;{number % 9 + 1}\n"
    for number in range(PARTS)
)


def rows_of(text: str, delimiter: str, sizes: int) -> list[tuple[Decimal, Decimal, int]]:
    """Return length, width and pieces of each row that has them and is not disabled, in centimetres."""
    rows = []
    for row in csv.reader(StringIO(text), delimiter=delimiter):
        cells = [cell.replace(",", ".") for cell in row[sizes : sizes + 3]]
        if len(cells) == 3 and cells[0].isdigit() and row[-1] != "false":
            rows.append((Decimal(cells[0]) / 10, Decimal(cells[1]) / 10, int(cells[2])))
    return rows


@pytest.mark.django_db
@pytest.mark.parametrize(("text", "delimiter", "sizes"), [(PROGRAM, ",", 0), (LIST, ";", 1)])
def test_each_row_of_a_sheet_is_a_part_of_the_stored_order(api, text: str, delimiter: str, sizes: int) -> None:
    answer = send(api, text.encode(), "mutfak.csv", color="Beyaz", thickness_mm="18")

    assert answer.status_code == 201, answer.json()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (part ->> 'length_cm')::numeric, (part ->> 'width_cm')::numeric, (part ->> 'quantity')::int"
            " FROM orchestrator_job, jsonb_array_elements(payload -> 'parts') AS part"
        )
        stored = cursor.fetchall()
    assert stored == rows_of(text, delimiter, sizes)


@pytest.mark.parametrize("verb", ["add", "skip"])
@pytest.mark.parametrize("number", [0, 2], ids=["never", "twice"])
def test_a_row_that_is_lost_or_read_twice_is_a_fault(monkeypatch: pytest.MonkeyPatch, verb: str, number: int) -> None:
    handle, row = getattr(OrderBuilder, verb), 5 if verb == "skip" else 3

    def handle_once_more(own: OrderBuilder, *arguments: Any) -> None:
        for _time in range(number if row in arguments else 1):
            handle(own, *arguments)

    monkeypatch.setattr(OrderBuilder, verb, handle_once_more)

    found = read(PROGRAM.encode(), "mutfak.csv", thickness_mm=Decimal(18))

    assert CellFault(f"A{row}", "parts", "This row was not read as one part.") in found.faults


def test_a_row_that_says_nothing_but_enabled_is_not_read() -> None:
    found = read(f"{HEAD}720,560,2,MDF-18,side,true\n,,,,,true\n".encode(), "mutfak.csv", thickness_mm=Decimal(18))

    assert (found.faults, len(found.order["parts"])) == ([], 1)
    assert origin(found, "not read") == [("", "A3")]
