"""The files for OptiPlanning: their cells, their names, and all of a job or none."""

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from openpyxl import load_workbook

from orchestrator.folders import Folders
from orchestrator.planning.excel.naming import short_hash
from orchestrator.planning.excel.template import SHEET, TAGS
from orchestrator.planning.excel.writing import write_files
from tests.support.cutting_jobs import ARKALIK, GOVDE
from tests.support.floor import JOB
from tests.support.sheets import coloured, names_in, plan_of


def rows_of(path: Path) -> list[list[Any]]:
    return [[cell.value for cell in row] for row in load_workbook(path)[SHEET].iter_rows()]


def test_the_example_is_right_to_the_cell(floor: Folders) -> None:
    written = write_files(JOB, plan_of(GOVDE, ARKALIK), floor)

    assert [sheet["name"] for sheet in written] == [f"{JOB}_GOVDE_Beyaz_18mm.xlsx", f"{JOB}_ARKALIK_Beyaz_5mm.xlsx"]
    tags, headings, *data = rows_of(floor.imports / written[0]["name"])
    assert tags == list(TAGS)
    assert headings[:3] == ["Malzeme kodu", "Boy (mm)", "En (mm)"]
    assert data == [["MAT-01", 1205, 400, 2, 1, "GOVDE_g1_TRIM_10.00", 1, 1, 0.4, None, None, None]]
    *_, backing = rows_of(floor.imports / written[1]["name"])
    assert backing == ["MAT-02", 1180, 382.5, 1, 0, "ARKALIK_a1_TRIM_5.00", *[None] * 6]


def test_text_is_text_and_nothing_is_a_formula(floor: Folders) -> None:
    tricky = {"material_code": "=1+1", "iidesc": "#N/A", "desc1": "@SUM(A1)", "id": "+5"}
    (sheet,) = write_files(JOB, plan_of({**GOVDE, **tricky}), floor)

    cells = list(load_workbook(floor.imports / sheet["name"])[SHEET].iter_rows())[2]
    assert [(cells[n].value, cells[n].data_type) for n in (0, 5, 10, 11)] == [
        ("=1+1", "s"),
        ("GOVDE_+5_TRIM_10.00", "s"),
        ("#N/A", "s"),
        ("@SUM(A1)", "s"),
    ]
    xml = ZipFile(floor.imports / sheet["name"]).read("xl/worksheets/sheet1.xml")
    assert b"<f>" not in xml


def test_a_material_of_digits_stays_text(floor: Folders) -> None:
    (sheet,) = write_files(JOB, plan_of({**GOVDE, "material_code": "0018"}), floor)

    cell = load_workbook(floor.imports / sheet["name"])[SHEET]["A3"]
    assert (cell.value, cell.number_format) == ("0018", "@")


def test_what_excel_would_read_as_an_escape_is_escaped(floor: Folders) -> None:
    (sheet,) = write_files(JOB, plan_of({**GOVDE, "desc1": "kod_x0041_son"}), floor)

    assert b"kod_x005F_x0041_son" in ZipFile(floor.imports / sheet["name"]).read("xl/worksheets/sheet1.xml")


def test_empty_means_no_cell(floor: Folders) -> None:
    (sheet,) = write_files(JOB, plan_of(GOVDE), floor)

    xml = ZipFile(floor.imports / sheet["name"]).read("xl/worksheets/sheet1.xml")
    assert b'r="I3"' in xml
    assert b'r="J3"' not in xml
    assert b'r="K3"' not in xml


def test_sample_rows_do_not_leak(floor: Folders, tmp_path: Path) -> None:
    book = load_workbook(floor.template)
    sheet = book[SHEET]
    for number in range(3, 40):
        sheet.cell(number, 1).value = "SECRET-SAMPLE"
    sheet["A4"].hyperlink = "http://sample.example/"
    sheet.merge_cells("B5:D6")
    template = tmp_path / "sablon.xlsx"
    book.save(template)
    folders = Folders(floor.imports, floor.export, floor.saw, template)

    (written,) = write_files(JOB, coloured("Beyaz"), folders)

    assert len(rows_of(floor.imports / written["name"])) == 3
    with ZipFile(floor.imports / written["name"]) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    for leak in (b"SECRET-SAMPLE", b"sample.example", b"ORNEK", b"Silinecek", b"mergeCell"):
        assert leak not in everything


def test_the_same_batch_gives_the_same_bytes(floor: Folders) -> None:
    (first,) = write_files(JOB, plan_of(GOVDE), floor)
    path = floor.imports / first["name"]
    content = path.read_bytes()
    path.unlink()

    (second,) = write_files(JOB, plan_of(GOVDE), floor)

    assert path.read_bytes() == content
    assert second == first
    assert {entry.date_time for entry in ZipFile(path).infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert b"1980-01-01" in ZipFile(path).read("docProps/core.xml")


def test_a_second_pass_leaves_the_files_alone(floor: Folders) -> None:
    before = write_files(JOB, plan_of(GOVDE, ARKALIK), floor)
    stamps = [(path.stat().st_ino, path.stat().st_mtime_ns) for path in sorted(floor.imports.iterdir())]

    after = write_files(JOB, plan_of(GOVDE, ARKALIK), floor)

    assert after == before
    assert [(path.stat().st_ino, path.stat().st_mtime_ns) for path in sorted(floor.imports.iterdir())] == stamps


def test_a_changed_batch_replaces_its_file_and_no_other(floor: Folders) -> None:
    body, backing = write_files(JOB, plan_of(GOVDE, ARKALIK), floor)
    stamp = (floor.imports / backing["name"]).stat().st_ino

    write_files(JOB, plan_of({**GOVDE, "quantity": 7}, ARKALIK), floor)

    assert rows_of(floor.imports / body["name"])[2][3] == 7
    assert (floor.imports / backing["name"]).stat().st_ino == stamp
    assert len(names_in(floor.imports)) == 2


def test_names_are_folded_readably(floor: Folders) -> None:
    written = write_files(JOB, coloured("Gümüş", "Açık Ceviz", "İNCİ ığdır", "Straße №5"), floor)

    assert [sheet["name"].removeprefix(f"{JOB}_GOVDE_").removesuffix("_18mm.xlsx") for sheet in written] == [
        "Gumus",
        "Acik-Ceviz",
        "INCI-igdir",
        "Strasse-No5",
    ]


@pytest.mark.parametrize(
    "colours",
    [
        ("Gümüş", "Gumus"),
        ("Gümüş", "Gömüç"),
        ("Beyaz", "BEYAZ"),
        ("a b", "a-b", "a/b", "a.b", "A B"),
        ("白", "黒", "..", "///", "-"),
        ("x" * 100, "x" * 99, "x" * 61),
        ("Gümüş", "Gumus", f"Gumus-{short_hash('Gümüş')}"),  # a colour that looks like another's hash
    ],
)
def test_names_never_collide(floor: Folders, colours: tuple[str, ...]) -> None:
    written = write_files(JOB, coloured(*colours), floor)

    assert len({sheet["name"].casefold() for sheet in written}) == len(colours)
    assert len(names_in(floor.imports)) == len(colours)
    for sheet, colour in zip(written, coloured(*colours).batches, strict=True):
        assert rows_of(floor.imports / sheet["name"])[2][5] == colour.rows[0].idesc
