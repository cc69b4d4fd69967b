"""Files: encodings and delimiters of CSV, several sheets, large and damaged ones."""

from contextlib import suppress
from decimal import Decimal
from io import BytesIO
from zipfile import ZipFile

import pytest
from hypothesis import example, given

from orchestrator.sheets import grid
from orchestrator.sheets.sheet_order import SheetError
from tests.support.garbage import damaged
from tests.support.order_sheets import faults, origin, part, read, with_part, xlsx

SHEET = "xl/worksheets/sheet1.xml"
OLE = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)
LIST = '18MM;RENK: Açık Gri\r\nüst;720,5;"1.205,50";2;1;1MM;yok\r\n'
SMALL = xlsx(["18MM"], [None, 720, 560, 2, 1, "x"])


@pytest.mark.parametrize(
    ("content", "about"),
    [
        (LIST.encode(), "utf-8, ;"),
        (LIST.encode("utf-8-sig"), "utf-8-sig, ;"),
        (LIST.encode("utf-16"), "utf-16, ;"),
        (LIST.encode("cp1254"), "cp1254, ;"),
        (LIST.replace(";", "\t").encode(), "utf-8, tab"),
        (LIST.replace("720,5", '"720,5"').replace(";", ",").encode(), "utf-8, ,"),
        (b"sep=;\r\n" + LIST.encode("cp1254"), "cp1254, ;"),
    ],
)
def test_csv_is_read_as_excel_writes_it(content, about) -> None:
    found = read(content, "liste.csv", color="")

    assert found.faults == []
    assert part(found)["color"] == "Açık Gri"
    assert (part(found)["length_cm"], part(found)["width_cm"]) == (Decimal("72.05"), Decimal("120.55"))
    assert (part(found)["edge_up"], part(found)["desc1"]) == ("1mm", "üst")
    assert found.cells["parts.0.length_cm"] == "B2"
    assert origin(found, "file") == [(f"CSV, {about}", "file")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (OLE, "old Excel file"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "protected with a password"),
        (b"%PDF-1.7 ...", "not an Excel file"),
        (b"<html><table><tr><td>1</td></tr></table>", "not an Excel file"),
        (b"\x00\x01\x02\x81", "neither an Excel file nor text"),
        (b"  \r\n", "empty"),
        (b"merhaba", "No parts were found"),
        (b"0" * (5 * 1024**2 + 1), "larger than 5 MB"),
        (b"PK\x03\x04 and nothing", "damaged"),
        (xlsx(["18MM"]), "No parts were found"),
    ],
)
def test_other_files_are_refused_with_what_to_do(content, message) -> None:
    with pytest.raises(SheetError, match=message):
        read(content)


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    spaces = b"<sheetData>" + b" " * (31 * 1024**2)
    bomb = with_part(SMALL, SHEET, lambda text: text.replace(b"<sheetData>", spaces))
    assert len(bomb) < 1024**2

    with pytest.raises(SheetError, match="too many rows or cells"):
        read(bomb)


@pytest.mark.parametrize("size", ["A1:XFD1048576", "A2:CZZ2"])
def test_a_merged_area_costs_no_more_than_its_cells(size, monkeypatch) -> None:
    monkeypatch.setattr("orchestrator.sheets.xlsx.MOST_CELLS", 1000)
    area = f'</sheetData><mergeCells count="1"><mergeCell ref="{size}"/></mergeCells>'.encode()

    with pytest.raises(SheetError, match="too many rows or cells"):
        read(with_part(SMALL, SHEET, lambda text: text.replace(b"</sheetData>", area)))


MANY = xlsx(["18MM"], *([None, 720, 560, 2] for _ in range(200)))
MERGED = xlsx(["18MM"], [None, 720, 560, 2], merged=["F2:I2"])
LIMITS = [
    ("xlsx.MOST_CELLS", 500, MANY),
    ("xlsx.MOST_ELEMENTS", 500, MANY),
    ("reading.MOST_CELLS", 100, b"1;2;3\n" * 40),
    ("reading.MOST_ROWS", 0, MERGED),
    ("xlsx.MOST_SHEETS", 0, MERGED),
    ("xlsx.MOST_AREAS", 0, MERGED),
    ("xlsx.MOST_FORMATS", 0, MERGED),
]


@pytest.mark.parametrize(("limit", "most", "content"), LIMITS, ids=[limit for limit, *_ in LIMITS])
def test_what_a_sheet_has_is_counted_while_reading(monkeypatch, limit, most, content) -> None:
    monkeypatch.setattr(f"orchestrator.sheets.{limit}", most)

    with pytest.raises(SheetError, match="too many rows or cells"):
        read(content)


LONG = b"x " * 20_000
COSTLY = {
    "a long text": (b'<c r="A1" t="str"><v>' + LONG + b"</v></c>", "too long"),
    "a long inline text": (b'<c r="A1" t="inlineStr"><is><t>' + LONG + b"</t></is></c>", "too long"),
    "a cell far to the right": (b'<c r="' + b"A" * 200_000 + b'1"><v>1</v></c>', "damaged"),
    "a row of many digits": (b'</row><row r="' + b"1" * 5_000 + b'"><c><v>1</v></c>', "damaged"),
    "a long attribute": (b'<c r="A1" x="' + b"x" * 10_000_000 + b'"><v>1</v></c>', "No parts"),
}


@pytest.mark.parametrize(("cell", "message"), COSTLY.values(), ids=COSTLY)
def test_what_no_sheet_has_is_refused(cell, message) -> None:
    content = with_part(
        SMALL, SHEET, lambda _old: b"<worksheet><sheetData><row>" + cell + b"</row></sheetData></worksheet>"
    )

    with pytest.raises(SheetError, match=message):
        read(content)


def test_what_is_not_read_is_shown_up_to_a_limit() -> None:
    found = read(("18MM\n;500;300;1\n" + "not\n" * 500).encode(), "a.csv")

    assert len(origin(found, "not read")) < 250
    assert origin(found, "order_id") == [("a", "file name")]


def test_entities_are_refused() -> None:
    doctype = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><worksheet'

    with pytest.raises(SheetError, match="damaged"):
        read(with_part(SMALL, SHEET, lambda text: text.replace(b"<worksheet", doctype, 1)))


def test_five_thousand_parts_are_read() -> None:
    rows = [[None, 500 + n % 900, 300 + n % 500, 2, 1, "x", "x", None, "1MM", "D1", None, "not"] for n in range(5000)]

    found = read(xlsx(["18MM"], *rows))

    assert found.faults == []
    assert len(found.order["parts"]) == 5000
    assert (part(found, 4999)["id"], part(found, 4999)["length_cm"]) == ("5001", Decimal(500 + 4999 % 900) / 10)


def test_more_parts_than_an_order_may_have_are_a_fault() -> None:
    content = "18MM\n" + ";500;300;1\n" * 5001

    found = read(content.encode(), "a.csv")

    assert faults(found) == {"B5002": "More than 5,000 parts. Split the order."}


def test_many_faults_are_counted() -> None:
    found = read(("18MM\n" + ";500;300;0\n" * 300).encode(), "a.csv")

    assert (len(found.faults), found.faults_beyond) == (100, 200)


def test_the_sheet_with_parts_is_read_and_named() -> None:
    rows = [["18MM"], [None, 720, 560, 2]]
    found = read(xlsx(["Kapak"], ["2026"], Parçalar=rows, hidden_Eski=rows))

    assert (found.sheet, found.faults) == ("Parçalar", [])
    assert origin(found, "not read") == [("Liste", "file"), ("Eski", "file")]


def test_of_several_sheets_with_parts_one_is_chosen() -> None:
    rows = [["18MM"], [None, 720, 560, 2]]
    content = xlsx(*rows, Yatak=[["18MM"], [None, 700, 500, 1]])

    with pytest.raises(SheetError, match="Several sheets have parts: Liste, Yatak") as refused:
        read(content)

    assert refused.value.sheets == ("Liste", "Yatak")
    assert part(read(content, sheet="Yatak"))["length_cm"] == 70
    with pytest.raises(SheetError, match="no sheet Mutfak"):
        read(content, sheet="Mutfak")


def test_saved_results_of_formulas_count_and_noise_of_fractions_does_not() -> None:
    content = xlsx(["18MM"], [None, "=700+20.5", "=A1/0", 2])

    def saved(text: bytes) -> bytes:
        text = text.replace(b"<f>700+20.5</f><v></v>", b"<f>700+20.5</f><v>720.50000000000011</v>")
        text = text.replace(b"<f>700+20.5</f><v />", b"<f>700+20.5</f><v>720.50000000000011</v>")
        return text.replace(b'<c r="C2"><f>A1/0</f><v></v>', b'<c r="C2" t="e"><f>A1/0</f><v>#DIV/0!</v>').replace(
            b'<c r="C2"><f>A1/0</f><v />', b'<c r="C2" t="e"><f>A1/0</f><v>#DIV/0!</v>'
        )

    found = read(with_part(content, SHEET, saved))

    assert part(found)["length_cm"] == Decimal("72.05")
    assert faults(found) == {"C2": "The formula's result is the error #DIV/0!."}


def test_a_hidden_row_is_neither_cut_nor_left_out() -> None:
    found = read(with_part(SMALL, SHEET, lambda text: text.replace(b'<row r="2"', b'<row r="2" hidden="1"')))

    assert faults(found) == {"B2": "This row is hidden. Show it, or delete it."}


@given(damaged(SMALL))
@example(SMALL[:100])
@example(SMALL[:-1])
def test_damaged_files_are_read_or_refused(content) -> None:
    with suppress(SheetError):
        assert read(content).layout == "list"


@given(damaged(ZipFile(BytesIO(SMALL)).read(SHEET)))
def test_damaged_xml_is_read_or_refused(text) -> None:
    with suppress(SheetError):
        assert read(with_part(SMALL, SHEET, lambda _whole: text)).layout == "list"


def test_coordinates_and_positions_agree() -> None:
    for column in (1, 26, 27, 702, 703, 16384):
        assert grid.position(grid.coordinate(7, column)) == (7, column)
