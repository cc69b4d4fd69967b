"""Simulates OptiPlanning: reads sheets and writes a solution into the export folder.

It is also a program for mode A, without Django:
`python play.py --export FOLDER [--delay S] [--fault NAME] [--plate WIDTH HEIGHT] FILE…`.
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
# The saw: move to failed/, answer late, never answer, remove the first delivery without an answer.
SAW_FAULTS = ("failed", "late", "mute", "lost")
BOARD = (Decimal(2800), Decimal(2100))  # mm, the longer side first
MOST_PLACED = 300  # pieces; a solution for more has figures only
MM2_PER_M2 = 1_000_000
FIRST_ROW = 3


@dataclass
class Work:
    board: tuple[Decimal, Decimal] = BOARD
    pieces: int = 0
    area_m2: Decimal = Decimal(0)
    sizes: set[tuple[str, Decimal, Decimal]] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)
    # By sheet and material: name, length and width of each piece.
    pieces_by_board: dict[tuple[int, str], list[tuple[str, Decimal, Decimal]]] = field(default_factory=dict)


def read_sheets(files: list[Path], *, board: tuple[Decimal, Decimal] = BOARD) -> Work:
    from openpyxl import load_workbook

    work = Work(board)
    for number, path in enumerate(files):
        book = load_workbook(path, read_only=True)
        try:
            for row in book.worksheets[0].iter_rows(min_row=FIRST_ROW, max_col=12, values_only=True):
                material, length, width, quantity = (str(value) for value in row[:4])
                work.sizes.add((material, Decimal(length), Decimal(width)))
                work.pieces += int(quantity)
                work.area_m2 += Decimal(length) * Decimal(width) * int(quantity) / MM2_PER_M2
                piece = (str(row[5] or ""), Decimal(length), Decimal(width))
                work.pieces_by_board.setdefault((number, material), []).extend(
                    [piece] * min(int(quantity), MOST_PLACED)
                )
                work.requests += REQUEST.findall(str(row[11] or ""))
        finally:
            book.close()
    return work


def place(pieces: list[tuple[str, Decimal, Decimal]], board: tuple[Decimal, Decimal]) -> list[list[str]]:
    """Put pieces on boards in rows, widest first; return each board's elements, or nothing if a piece does not fit."""
    (length, width), boards = board, list[list[str]]()
    x = y = row = Decimal(0)

    def waste(x: Decimal, y: Decimal, length: Decimal, width: Decimal) -> None:
        if length > 0 and width > 0:
            boards[-1].append(f'<Drop x="{x}" y="{y}" length="{length}" width="{width}"/>')

    for name, long, wide in sorted(pieces, key=lambda piece: (piece[2], piece[1]), reverse=True):
        if long > length or wide > width:
            return []
        if boards and x + long > length:
            waste(x, y, length - x, row)
            x, y, row = Decimal(0), y + row, Decimal(0)
        if not boards or y + wide > width:
            if boards:
                waste(Decimal(0), y, length, width - y)
            boards.append([])
            x = y = row = Decimal(0)
        boards[-1].append(f'<Part name={quoteattr(name)} x="{x}" y="{y}" length="{long}" width="{wide}"/>')
        x, row = x + long, max(row, wide)
    waste(x, y, length - x, row)
    waste(Decimal(0), y + row, length, width - y - row)
    return boards


def patterns_of(work: Work) -> tuple[list[str], int]:
    """Return the boards of a solution, those that are alike as one, and their number; none if they are not placed."""
    if work.pieces > MOST_PLACED:
        return [], 0
    alike: dict[tuple[str, str], int] = {}
    for (_, material), pieces in work.pieces_by_board.items():
        boards = place(pieces, work.board)
        if not boards:
            return [], 0
        for board in boards:
            key = (material, "".join(f"\n        {element}" for element in board))
            alike[key] = alike.get(key, 0) + 1
    size = f'length="{work.board[0]}" width="{work.board[1]}"'
    listed = [
        f'      <Pattern boards="{number}" material={quoteattr(material)} {size}>{elements}\n      </Pattern>'
        for (material, elements), number in alike.items()
    ]
    return listed, sum(alike.values())


def solution_xml(job: str, work: Work, *, encoding: str = "UTF-8") -> str:
    """Return a solution as OptiPlanning writes it: several Solution elements, the chosen one with best="1"."""
    placed, placed_boards = patterns_of(work)
    plate_m2 = work.board[0] * work.board[1] / MM2_PER_M2
    boards = placed_boards or max(1, int((work.area_m2 * Decimal("1.15") / plate_m2).to_integral_value(ROUND_UP)))
    solutions = []
    for number, (algo, more) in enumerate((("SPEED", 1), ("BEST", 0)), start=1):
        board_m2 = plate_m2 * (boards + more)
        patterns = (len(placed) or len(work.sizes)) + more
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
        inside = "" if more or not placed else "\n" + "\n".join(placed) + "\n    "
        solutions.append(f"    <Solution {attributes}>{inside}</Solution>")
    requests = [request.removeprefix("saw-") for request in work.requests if request.startswith("saw-")]
    saw = f"  <Simulator saw={quoteattr(requests[0])}/>\n" if requests else ""
    listed = "\n".join(solutions)
    return (
        f'<?xml version="1.0" encoding="{encoding}"?>\n<OptiPlanning job={quoteattr(job)}>\n'
        f"  <Solutions>\n{listed}\n  </Solutions>\n{saw}</OptiPlanning>\n"
    )


def solve(
    files: list[Path],
    export: Path,
    *,
    fault: str | None = None,
    each_sheet: bool = False,
    board: tuple[Decimal, Decimal] = BOARD,
    pause: float = 3.0,
) -> list[Path]:
    """Solve the sheets of each job, together or one by one; return the files written."""
    jobs: dict[str, list[Path]] = {}
    for path in files:
        if found := JOB_ID.match(path.name):
            jobs.setdefault(path.stem if each_sheet else found[0], []).append(path)
    works = {stem: read_sheets(sheets, board=board) for stem, sheets in jobs.items()}
    return [path for stem, work in works.items() for path in _solve_together(stem, work, export, fault, pause)]


def _solve_together(stem: str, work: Work, export: Path, fault: str | None, pause: float) -> list[Path]:
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
    parser.add_argument("--plate", type=Decimal, nargs=2, default=BOARD, help="width and height in mm")
    parser.add_argument("--each-sheet", action="store_true", help="write a solution for each sheet, not for each job")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    options = parser.parse_args(arguments)
    time.sleep(options.delay)
    short, long = sorted(options.plate)
    chosen = {"fault": options.fault, "each_sheet": options.each_sheet, "board": (long, short)}
    for written in solve(options.files, options.export, **chosen):
        sys.stdout.write(f"{written.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
