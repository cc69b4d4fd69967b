"""The template's contract."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from openpyxl import Workbook, load_workbook

from orchestrator.errors import Code, JobError
from orchestrator.planning.excel.template import SHEET, TAGS, check_template
from tests.support.sheets import TEMPLATE


@pytest.fixture
def template(tmp_path: Path) -> Callable[..., Path]:
    """Make a template with other tags or another sheet."""

    def make(tags: Any = TAGS, sheet: str = SHEET) -> Path:
        book = Workbook()
        book.worksheets[0].title = sheet
        book.worksheets[0].append(list(tags))
        book.save(tmp_path / "sablon.xlsx")
        return tmp_path / "sablon.xlsx"

    return make


def reason(path: Path) -> str:
    with pytest.raises(JobError) as fault:
        check_template(path)
    assert fault.value.code == Code.TEMPLATE_INVALID
    return fault.value.message


def test_the_shipped_template_keeps_the_contract() -> None:
    check_template(TEMPLATE)

    sheet = load_workbook(TEMPLATE)[SHEET]
    assert [cell.value for cell in sheet[1]] == list(TAGS)
    assert "[P_EGDE_MAT_LO]" in TAGS
    assert sheet.max_row > 2, "sample rows show that they are removed"


def test_the_tags_alone_are_enough(template: Any) -> None:
    check_template(template())


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (TAGS[:-1], "Cell L1 should be [P_DESC1], it is empty."),
        ((*TAGS, "[P_MORE]"), "Cell M1 should be empty, it is '[P_MORE]'."),
        ((*TAGS, None, "[P_MORE]"), "Cell N1 should be empty, it is '[P_MORE]'."),
        ((*TAGS[:7], "[P_EDGE_MAT_LO]", *TAGS[8:]), "Cell H1 should be [P_EGDE_MAT_LO], it is '[P_EDGE_MAT_LO]'."),
        ((TAGS[1], TAGS[0], *TAGS[2:]), "Cell A1 should be [P_CODE_MAT], it is '[P_LENGTH]'."),
        ((), "Cell A1 should be [P_CODE_MAT], it is empty."),
    ],
)
def test_wrong_missing_and_extra_tags_are_named(template: Any, tags: Any, expected: str) -> None:
    assert expected in reason(template(tags))


def test_a_wrong_sheet_is_named(template: Any) -> None:
    assert "It has no sheet ŞABLON; its sheets are SABLON." in reason(template(sheet="SABLON"))


def test_a_missing_template_is_reported(tmp_path: Path) -> None:
    assert "none.xlsx cannot be read: No such file or directory." in reason(tmp_path / "none.xlsx")
    assert "cannot be read: Is a directory." in reason(tmp_path)


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 broken", TEMPLATE.read_bytes()[:3000]])
def test_an_unreadable_template_is_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "sablon.xlsx"
    path.write_bytes(content)

    assert "It is not a readable XLSX file" in reason(path)


def test_a_template_of_an_absurd_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sablon.xlsx"
    with path.open("wb") as file:
        file.truncate(200 * 1024**2)

    assert "larger than 5 MB" in reason(path)


def test_a_small_template_that_unfolds_into_a_large_one_is_not_opened(template: Any) -> None:
    path = template()
    with ZipFile(path, "a", ZIP_DEFLATED) as archive, archive.open("xl/media/image1.png", "w") as bomb:
        for _ in range(51):
            bomb.write(bytes(1024**2))
    assert path.stat().st_size < 1024**2

    assert "would expand to more than 50 MB" in reason(path)
