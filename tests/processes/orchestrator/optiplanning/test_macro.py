"""Mode B: the macro in Excel."""

import re
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


def test_mode_b_where_excel_denies_access_runs_the_macro(excel: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("EXCEL_CLOSED", "1")

    run("B", files=[Path("/in/a.xlsx")])

    assert excel()[-2:] == ["run 'RunOptiPlanning.xls'!RunOptiPlanning /in/a.xlsx 1830 3660.5", "quit"]


OTHER = "Sub SomethingElse()"
MISSING, FAILED = Code.OPTI_MODE_B_MACRO_MISSING, Code.OPTI_RUNNER_FAILED
# By default, Excel denies access to the workbook's code: EXCEL_CLOSED. Then a missing macro is found by running it.
FAULTS = {
    "no macro": ("", OTHER, ["a"], MISSING, rf"RunOptiPlanning\.xls has no macro {excel_macro.MACRO}\."),
    "no macro, access denied": ("EXCEL_CLOSED", OTHER, ["a"], MISSING, r".*Makro calistirilamiyor\..*"),
    "a macro that fails": ("", "", ["bad"], FAILED, r"OptiPlanning failed, exit code 1: Excel: the macro failed"),
    "a macro that fails, access denied": ("EXCEL_CLOSED", "", ["bad"], FAILED, r".*the macro failed"),
    "a macro that fails after it has run": ("EXCEL_CLOSED", "", ["a", "1004"], FAILED, r".*Makro calistirilamiyor\..*"),
    "a macro that was seen": ("", "", ["1004"], FAILED, r".*Makro calistirilamiyor\..*"),
    "no Excel": (
        "EXCEL_MISSING",
        "",
        ["a"],
        MISSING,
        r"Excel cannot be started: \(-2147221005, 'Gecersiz sinif dizesi'.*",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_of_mode_b_is_reported_and_excel_is_closed(
    excel: Any, settings: Any, monkeypatch: Any, case: str
) -> None:
    variable, macro, files, code, message = FAULTS[case]
    if variable:
        monkeypatch.setenv(variable, "1")
    if macro:
        Path(settings.OPTI_MACRO).write_text(macro)

    fault = fault_of("B", files=[Path(f"/in/{name}.xlsx") for name in files])

    assert fault.code == code
    assert re.fullmatch(message, fault.message)
    assert excel()[1:][-1:] == ([] if variable == "EXCEL_MISSING" else ["quit"])
