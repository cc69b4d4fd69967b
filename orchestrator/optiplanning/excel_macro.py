"""Makes Excel run the macro RunOptiPlanning; a script for a separate process on Windows, with pywin32.

`python excel_macro.py PIDFILE WORKBOOK WIDTH HEIGHT FILE…` calls the macro once for each file, with its path and the
plate's width and height in millimetres.
"""

import importlib
import sys
from pathlib import Path
from typing import Any

NO_MACRO = 3  # exit code
EXCEL_ERROR_1004 = -2146827284  # among others "Cannot run the macro. The macro may not be available"
MACRO = "RunOptiPlanning"


def main(pid_file: Path, workbook: Path, plate: list[int | float], files: list[Path]) -> int:
    client: Any = importlib.import_module("win32com.client")
    errors: Any = importlib.import_module("pywintypes")
    process: Any = importlib.import_module("win32process")
    try:
        # A new instance, not the one that the operator has open.
        excel = client.DispatchEx("Excel.Application")
    except errors.com_error as error:
        return refuse(NO_MACRO, f"Excel cannot be started: {error}")
    is_known = has_run = False
    try:
        pid_file.write_text(str(process.GetWindowThreadProcessId(excel.Hwnd)[1]))
        excel.DisplayAlerts = False
        book = excel.Workbooks.Open(str(workbook), ReadOnly=True)
        modules = modules_of(book)
        is_known = modules is not None
        if modules is not None and not any(MACRO in text for text in modules):
            return refuse(NO_MACRO, f"{workbook.name} has no macro {MACRO}.")
        for file in files:
            excel.Run(f"'{book.Name}'!{MACRO}", str(file), *plate)
            has_run = True
    except errors.com_error as error:
        # Excel reports a missing macro like any other error; if the macro was found or has run, it is not missing.
        is_missing = not is_known and not has_run and scode(error) == EXCEL_ERROR_1004
        return refuse(NO_MACRO if is_missing else 1, f"Excel: {error}")
    finally:
        excel.Quit()
    return 0


def modules_of(book: Any) -> list[str] | None:
    """Return the VBA code of a workbook, or None if Excel denies access to it."""
    try:
        modules = [component.CodeModule for component in book.VBProject.VBComponents]
    except Exception:  # noqa: BLE001 - "programmatic access is not trusted" comes as any kind of COM error
        return None
    return [module.Lines(1, module.CountOfLines) for module in modules if module.CountOfLines]


def number(text: str) -> int | float:
    """Return a number for VBA, which would read a text by the machine's language: in Turkish, 1830.5 is 18305."""
    return int(text) if text.isdigit() else float(text)


def scode(error: object) -> int | None:
    """Return Excel's number of a COM error; the text is in the machine's language."""
    facts = getattr(error, "excepinfo", None)
    return facts[5] if facts and len(facts) > 5 else None  # the last of pywin32's six


def refuse(code: int, message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return code


if __name__ == "__main__":
    _, pid_file, workbook, width, height, *files = sys.argv
    sys.exit(main(Path(pid_file), Path(workbook), [number(width), number(height)], [Path(name) for name in files]))
