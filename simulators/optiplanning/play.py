"""Simulates OptiPlanning: reads sheets and writes a solution into the export folder.

It is also a program for mode A, without Django: `python play.py --export FOLDER [--delay S] [--fault NAME] FILE…`.
`sim:NAME` in a sheet's [P_DESC1] overrides the arguments, so that orders with different faults can run side by side;
a fault of the saw is passed on inside the solution.
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
REQUEST = re.compile(r"\bsim:([a-z0-9-]+)")
# OptiPlanning: no XML, invalid XML, half a file and later the rest, another job's id, another encoding, crash, hang.
OPTI_FAULTS = ("silent", "invalid", "half", "wrong-job", "utf-16", "crash", "hang")
# The saw: move to failed/, answer late, never answer.
SAW_FAULTS = ("failed", "late", "mute")
PLATE_M2 = Decimal("5.88")
MM2_PER_M2 = 1_000_000
FIRST_ROW = 3


@dataclass
class Work:
    pieces: int = 0
    area_m2: Decimal = Decimal(0)
    sizes: set[tuple[str, Decimal, Decimal]] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)


def read_sheets(files: list[Path]) -> Work:
    from openpyxl import load_workbook  # noqa: PLC0415 - slow to load

    work = Work()
    for path in files:
        book = load_workbook(path, read_only=True)
        try:
            for row in book.worksheets[0].iter_rows(min_row=FIRST_ROW, max_col=12, values_only=True):
                material, length, width, quantity = (str(value) for value in row[:4])
                work.sizes.add((material, Decimal(length), Decimal(width)))
                work.pieces += int(quantity)
                work.area_m2 += Decimal(length) * Decimal(width) * int(quantity) / MM2_PER_M2
                work.requests += REQUEST.findall(str(row[11] or ""))
        finally:
            book.close()
    return work


def solution_xml(job: str, work: Work, *, encoding: str = "UTF-8") -> str:
    """Return a solution as OptiPlanning writes it: several Solution elements, the chosen one with best="1"."""
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
    requests = [request.removeprefix("saw-") for request in work.requests if request.startswith("saw-")]
    saw = f"  <Simulator saw={quoteattr(requests[0])}/>\n" if requests else ""
    listed = "\n".join(solutions)
    return (
        f'<?xml version="1.0" encoding="{encoding}"?>\n<OptiPlanning job={quoteattr(job)}>\n'
        f"  <Solutions>\n{listed}\n  </Solutions>\n{saw}</OptiPlanning>\n"
    )


def solve(
    files: list[Path], export: Path, *, fault: str | None = None, each_sheet: bool = False, pause: float = 3.0
) -> list[Path]:
    """Solve the sheets of each job, together or one by one; return the files written."""
    jobs: dict[str, list[Path]] = {}
    for path in files:
        if found := JOB_ID.match(path.name):
            jobs.setdefault(path.stem if each_sheet else found[0], []).append(path)
    return [path for stem, sheets in jobs.items() for path in _solve_together(stem, sheets, export, fault, pause)]


def _solve_together(stem: str, sheets: list[Path], export: Path, fault: str | None, pause: float) -> list[Path]:
    work = read_sheets(sheets)
    fault = next((request for request in work.requests if request in OPTI_FAULTS), fault)
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
    parser = argparse.ArgumentParser(description="Simulates OptiPlanning for the given sheets.")
    parser.add_argument("--export", type=Path, required=True, help="the export folder")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds to wait first")
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
