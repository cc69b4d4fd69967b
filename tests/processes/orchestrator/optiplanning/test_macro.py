"""Mode B: the macro in Excel."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import Code
from orchestrator.optiplanning import adapters, excel_macro
from tests.support.adapters import fault_of, run


def test_mode_b_elsewhere_than_on_windows_is_reported() -> None:
    fault = fault_of("B")

    assert fault.code == Code.OPTI_MODE_B_MACRO_MISSING
    assert fault.message == "Excel macros run on Windows only."


# An Excel made of files: it records every call.
FAKE_EXCEL = {
    "win32com/__init__.py": "",
    "pywintypes.py": """
class com_error(Exception):
    excepinfo = property(lambda error: error.args[2] if len(error.args) > 2 else None)
""",
    "win32process.py": "def GetWindowThreadProcessId(window):\n    return 1, 4_000_000 + window\n",
    "win32com/client.py": """
import os
from pathlib import Path
import pywintypes

LOG = Path(os.environ["EXCEL_LOG"])
def log(text):
    with LOG.open("a") as file:
        file.write(text + "\\n")

class Module:
    def __init__(self, code): self.code, self.CountOfLines = code, 1
    def Lines(self, first, count): return self.code
class Component:
    def __init__(self, code): self.CodeModule = Module(code)
class Book:
    def __init__(self, path):
        self.Name, self.code = os.path.basename(path), Path(path).read_text()
    @property
    def VBProject(self):
        if "EXCEL_CLOSED" in os.environ:
            raise pywintypes.com_error("Programmatic access to Visual Basic Project is not trusted")
        project = type("Project", (), {})()
        project.VBComponents = [Component(self.code)]
        return project
class Books:
    def Open(self, path, ReadOnly):
        log(f"open {os.path.basename(path)}")
        Excel.book = Book(path)
        return Excel.book
class Excel:
    Hwnd = 7
    Workbooks = Books()
    def Run(self, macro, file, width, height):
        log(f"run {macro} {file} {width!r} {height!r}")
        if macro.partition("!")[2] not in self.book.code or "1004" in file:
            own = (0, "Microsoft Excel", "Makro calistirilamiyor.", "xlmain11.chm", 0, -2146827284)
            raise pywintypes.com_error(-2147352567, "Ozel durum olustu.", own, None)
        if "bad" in file:
            raise pywintypes.com_error("the macro failed")
    def Quit(self): log("quit")
def DispatchEx(name):
    log(name)
    if "EXCEL_MISSING" in os.environ:
        raise pywintypes.com_error(-2147221005, "Gecersiz sinif dizesi", None, None)
    return Excel()
""",
}


@pytest.fixture
def excel(tmp_path: Path, settings: Any, monkeypatch: Any) -> Callable[[], list[str]]:
    """Put a stand-in for Excel and pywin32 at the outermost edge; the script and its process are real."""
    for name, code in FAKE_EXCEL.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    log = tmp_path / "log"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("EXCEL_LOG", str(log))
    monkeypatch.setattr(adapters, "macro_missing", lambda: None)
    settings.OPTI_MACRO = str(tmp_path / "RunOptiPlanning.xls")
    (tmp_path / "RunOptiPlanning.xls").write_text("Sub RunOptiPlanning(path, width, height)")
    return lambda: log.read_text().splitlines()


def test_mode_b_runs_the_macro_once_for_each_file_with_the_plate(excel: Any) -> None:
    run("B", files=[Path("/in/a.xlsx"), Path("/in/b.xlsx")])

    assert excel() == [
        "Excel.Application",
        "open RunOptiPlanning.xls",
        "run 'RunOptiPlanning.xls'!RunOptiPlanning /in/a.xlsx 1830 3660.5",
        "run 'RunOptiPlanning.xls'!RunOptiPlanning /in/b.xlsx 1830 3660.5",
        "quit",
    ]


def test_mode_b_without_the_macro_is_reported(excel: Any, settings: Any) -> None:
    Path(settings.OPTI_MACRO).write_text("Sub SomethingElse()")

    fault = fault_of("B", files=[Path("/in/a.xlsx")])

    assert (fault.code, fault.message) == (
        Code.OPTI_MODE_B_MACRO_MISSING,
        f"RunOptiPlanning.xls has no macro {excel_macro.MACRO}.",
    )
    assert excel()[-1] == "quit"


def test_mode_b_whose_macro_fails_is_reported(excel: Any) -> None:
    fault = fault_of("B", files=[Path("/in/bad.xlsx")])

    assert fault.code == Code.OPTI_RUNNER_FAILED
    assert fault.message == "OptiPlanning failed, exit code 1: Excel: the macro failed"
    assert excel()[-1] == "quit"


def test_mode_b_without_excel_is_reported(excel: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("EXCEL_MISSING", "1")

    fault = fault_of("B", files=[Path("/in/a.xlsx")])

    assert fault.code == Code.OPTI_MODE_B_MACRO_MISSING
    assert fault.message.startswith("Excel cannot be started: (-2147221005, 'Gecersiz sinif dizesi'")
    assert excel() == ["Excel.Application"]


@pytest.fixture
def closed(monkeypatch: Any) -> None:
    """Deny access to the workbook's code, as Excel does by default."""
    monkeypatch.setenv("EXCEL_CLOSED", "1")


@pytest.mark.usefixtures("closed")
def test_mode_b_where_excel_denies_access_runs_the_macro(excel: Any) -> None:
    run("B", files=[Path("/in/a.xlsx")])

    assert excel()[-2:] == ["run 'RunOptiPlanning.xls'!RunOptiPlanning /in/a.xlsx 1830 3660.5", "quit"]


@pytest.mark.usefixtures("closed")
def test_mode_b_where_excel_denies_access_a_missing_macro_is_found_by_running_it(excel: Any, settings: Any) -> None:
    Path(settings.OPTI_MACRO).write_text("Sub SomethingElse()")

    fault = fault_of("B", files=[Path("/in/a.xlsx")])

    assert fault.code == Code.OPTI_MODE_B_MACRO_MISSING
    assert "Makro calistirilamiyor." in fault.message
    assert excel()[-1] == "quit"


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("files", [["bad"], ["a", "1004"]], ids=["a fault of the macro's", "after it has run"])
def test_mode_b_a_macro_that_fails_is_not_missing(excel: Any, files: list[str]) -> None:
    fault = fault_of("B", files=[Path(f"/in/{name}.xlsx") for name in files])

    assert fault.code == Code.OPTI_RUNNER_FAILED


def test_mode_b_a_macro_that_was_seen_is_not_missing(excel: Any) -> None:
    assert fault_of("B", files=[Path("/in/1004.xlsx")]).code == Code.OPTI_RUNNER_FAILED
