"""Mode B: the macro in Excel (ORC-16)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.faults import Code
from orchestrator.optiplanning import adapters, excel_macro
from tests.orchestrator.floor.test_adapters import fault_of, run


def test_orc_16_mode_b_elsewhere_than_on_windows_is_told() -> None:
    fault = fault_of("B")

    assert fault.code == Code.OPTI_MODE_B_MACRO_MISSING
    assert fault.message == "Excel macros run on Windows only."


# An Excel made of files: it notes what it is told to do.
FAKE_EXCEL = {
    "win32com/__init__.py": "",
    "pywintypes.py": "class com_error(Exception): pass\n",
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
        self.Name = os.path.basename(path)
        project = type("Project", (), {})()
        project.VBComponents = [Component(Path(path).read_text())]
        self.VBProject = project
class Books:
    def Open(self, path, ReadOnly):
        log(f"open {os.path.basename(path)}")
        return Book(path)
class Excel:
    Hwnd = 7
    Workbooks = Books()
    def Run(self, macro, file):
        log(f"run {macro} {file}")
        if "bad" in file:
            raise pywintypes.com_error("the macro failed")
    def Quit(self): log("quit")
def DispatchEx(name):
    log(name)
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
    (tmp_path / "RunOptiPlanning.xls").write_text("Sub RunOptiPlanning(path)")
    return lambda: log.read_text().splitlines()


def test_orc_16_mode_b_runs_the_macro_once_for_each_file(excel: Any) -> None:
    run("B", files=[Path("/in/a.xlsx"), Path("/in/b.xlsx")])

    assert excel() == [
        "Excel.Application",
        "open RunOptiPlanning.xls",
        "run 'RunOptiPlanning.xls'!RunOptiPlanning /in/a.xlsx",
        "run 'RunOptiPlanning.xls'!RunOptiPlanning /in/b.xlsx",
        "quit",
    ]


def test_orc_16_mode_b_without_the_macro_is_told(excel: Any, settings: Any) -> None:
    Path(settings.OPTI_MACRO).write_text("Sub SomethingElse()")

    fault = fault_of("B", files=[Path("/in/a.xlsx")])

    assert (fault.code, fault.message) == (
        Code.OPTI_MODE_B_MACRO_MISSING,
        f"RunOptiPlanning.xls has no macro {excel_macro.MACRO}.",
    )
    assert excel()[-1] == "quit"


def test_orc_16_mode_b_whose_macro_fails_is_told(excel: Any) -> None:
    fault = fault_of("B", files=[Path("/in/bad.xlsx")])

    assert fault.code == Code.OPTI_RUNNER_FAILED
    assert fault.message == "OptiPlanning failed, exit code 1: Excel: the macro failed"
    assert excel()[-1] == "quit"
