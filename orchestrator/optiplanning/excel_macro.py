"""Lets Excel run the macro RunOptiPlanning; a script for a process of its own on Windows, with pywin32.

`python excel_macro.py PIDFILE WORKBOOK FILE…` calls the macro once for each file, with its path.
"""

import importlib
import sys
from pathlib import Path
from typing import Any

NO_MACRO = 3  # the exit code for it
MACRO = "RunOptiPlanning"


def main(pid_file: Path, workbook: Path, files: list[Path]) -> int:
    """Open the workbook in an Excel of our own, and run the macro."""
    client: Any = importlib.import_module("win32com.client")
    errors: Any = importlib.import_module("pywintypes")
    process: Any = importlib.import_module("win32process")
    # Not the Excel that the operator has open.
    excel = client.DispatchEx("Excel.Application")
    try:
        pid_file.write_text(str(process.GetWindowThreadProcessId(excel.Hwnd)[1]))
        excel.DisplayAlerts = False
        book = excel.Workbooks.Open(str(workbook), ReadOnly=True)
        if not has_macro(book):
            sys.stderr.write(f"{workbook.name} has no macro {MACRO}.\n")
            return NO_MACRO
        for file in files:
            excel.Run(f"'{book.Name}'!{MACRO}", str(file))
    except errors.com_error as error:
        sys.stderr.write(f"Excel: {error}\n")
        return 1
    finally:
        excel.Quit()
    return 0


def has_macro(book: Any) -> bool:
    """Look for the macro; where Excel does not let us look, running it will tell."""
    try:
        modules = [component.CodeModule for component in book.VBProject.VBComponents]
    except Exception:  # noqa: BLE001 - "programmatic access is not trusted" comes as any kind of COM error
        return True
    return any(MACRO in module.Lines(1, module.CountOfLines) for module in modules if module.CountOfLines)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]]))
