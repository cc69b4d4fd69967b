"""Plays OptiPlanning: reads sheets, and writes a solution into the export folder.

Also a program for mode A, without Django: `python play.py --export FOLDER [--delay S] [--fault NAME] FILE…`.
What is asked for by the words `sim:NAME` in a sheet's [P_DESC1] wins over the arguments, so that orders of different
fates can run side by side; what is asked of the saw travels on inside the solution.
"""

import argparse
import re
import sys
import time
from dataclasses import dataclass, field
from decimal import ROUND_UP, Decimal
from pathlib import Path
from uuid import uuid4
from xml.sax.saxutils import quoteattr

JOB_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
WISH = re.compile(r"\bsim:([a-z0-9-]+)")
# Of OptiPlanning: no XML; XML that is none; half of it, then the rest; another job's; a crash; no end.
OPTI_FAULTS = ("silent", "invalid", "half", "wrong-job", "utf-16", "crash", "hang")
# Of the saw: put into failed/; an answer long after its time; none at all.
SAW_FAULTS = ("failed", "late", "mute")
PLATE_M2 = Decimal("5.88")
MM2_PER_M2 = 1_000_000
FIRST_ROW = 3


@dataclass
class Work:
    """What a job's sheets ask for."""

    pieces: int = 0
    area_m2: Decimal = Decimal(0)
    sizes: set[tuple[str, Decimal, Decimal]] = field(default_factory=set)
    wishes: list[str] = field(default_factory=list)


def read_sheets(files: list[Path]) -> Work:
    """Add up the rows of the sheets."""
    from openpyxl import load_workbook  # noqa: PLC0415 - it takes long to load, and whoever starts a player needs it not

    work = Work()
    for path in files:
        book = load_workbook(path, read_only=True)
        try:
            for row in book.worksheets[0].iter_rows(min_row=FIRST_ROW, max_col=12, values_only=True):
                material, length, width, quantity = (str(value) for value in row[:4])
                work.sizes.add((material, Decimal(length), Decimal(width)))
                work.pieces += int(quantity)
                work.area_m2 += Decimal(length) * Decimal(width) * int(quantity) / MM2_PER_M2
                work.wishes += WISH.findall(str(row[11] or ""))
        finally:
            book.close()
    return work


def solution_xml(job: str, work: Work, *, encoding: str = "UTF-8") -> str:
    """Return a solution of the shape seen in the field: several Solution elements, the chosen one with best="1"."""
    boards = max(1, int((work.area_m2 * Decimal("1.15") / PLATE_M2).to_integral_value(ROUND_UP)))
    solutions = []
    for number, (algo, more) in enumerate((("SPEED", 1), ("BEST", 0)), start=1):
        board_m2 = PLATE_M2 * (boards + more)
        patterns = len(work.sizes) + more
        figures = {
            "name": f"{job}_{number}",
            "algo": algo,
            "best": "0" if more else "1",
            "mqBoards": f"{board_m2:.2f}",
            "patterns": patterns,
            "cycles": patterns + boards,
            "zcuts": 4 * work.pieces + 2 * patterns,
            "jobTime": 35 * patterns + 6 * work.pieces,
            "jobCost": f"{board_m2 * 240:.2f}",
            "mqDrops": f"{max(Decimal(0), board_m2 - work.area_m2):.2f}",
            "diffDrops": patterns,
        }
        attributes = " ".join(f"{name}={quoteattr(str(value))}" for name, value in figures.items())
        solutions.append(f"    <Solution {attributes}/>")
    wishes = [wish.removeprefix("saw-") for wish in work.wishes if wish.startswith("saw-")]
    wished = f"  <Simulator saw={quoteattr(wishes[0])}/>\n" if wishes else ""
    listed = "\n".join(solutions)
    return (
        f'<?xml version="1.0" encoding="{encoding}"?>\n<OptiPlanning job={quoteattr(job)}>\n'
        f"  <Solutions>\n{listed}\n  </Solutions>\n{wished}</OptiPlanning>\n"
    )


def solve(
    files: list[Path], export: Path, *, fault: str | None = None, each_sheet: bool = False, pause: float = 3.0
) -> list[Path]:
    """Solve the sheets of each job among the files, one by one if wanted; return what was written."""
    jobs: dict[str, list[Path]] = {}
    for path in files:
        if found := JOB_ID.match(path.name):
            jobs.setdefault(path.stem if each_sheet else found[0], []).append(path)
    return [path for stem, sheets in jobs.items() for path in _solve_together(stem, sheets, export, fault, pause)]


def _solve_together(stem: str, sheets: list[Path], export: Path, fault: str | None, pause: float) -> list[Path]:
    work = read_sheets(sheets)
    fault = next((wish for wish in work.wishes if wish in OPTI_FAULTS), fault)
    if fault == "silent":
        return []
    if fault == "crash":
        sys.exit("OptiPlanning: out of licence")
    if fault == "hang":
        time.sleep(24 * 3600)
    target = export / f"{JOB_ID.sub(str(uuid4()), stem) if fault == 'wrong-job' else stem}_solution.xml"
    encoding = "UTF-16" if fault == "utf-16" else "UTF-8"
    content = solution_xml(stem[:36], work, encoding=encoding).encode(encoding)
    if fault == "invalid":
        content = b"<OptiPlanning><Solution></OptiPlanning>"
    if fault == "half":
        target.write_bytes(content[: len(content) // 2])
        time.sleep(pause)
        with target.open("ab") as file:
            file.write(content[len(content) // 2 :])
    else:
        target.write_bytes(content)
    return [target]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Plays OptiPlanning for the sheets it is given.")
    parser.add_argument("--export", type=Path, required=True, help="the export folder")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds of thinking")
    parser.add_argument("--fault", choices=OPTI_FAULTS, help="what goes wrong")
    parser.add_argument("--each-sheet", action="store_true", help="write a solution for each sheet, not for each job")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    options = parser.parse_args(arguments)
    time.sleep(options.delay)
    for written in solve(options.files, options.export, fault=options.fault, each_sheet=options.each_sheet):
        sys.stdout.write(f"{written.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
