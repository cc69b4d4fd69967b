"""The table of who may open what, as it is in docs/security.md."""

import re
from collections import defaultdict
from collections.abc import Iterable

from tests.support.commands import ROOT
from tests.support.tenancy.walk import Visit

DOCUMENT = ROOT / "docs" / "security.md"
BEGIN = "<!-- The tenancy walk writes this: .venv/bin/python -m tests.support.tenancy --write -->"
END = "<!-- The end of what the tenancy walk writes. -->"
WHOSE = {"": "", "own": "the own site's", "other": "another site's", "house": "the installation's"}
Outcomes = tuple[tuple[str, tuple[str, ...]], ...]  # for each target, what came of it for each identity


def between_marks(text: str) -> str:
    return text.partition(BEGIN)[2].partition(END)[0].strip("\n")


def with_table(text: str, table: str) -> str:
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda _found: f"{BEGIN}\n\n{table}\n\n{END}", text)


def differences(text: str, pages: Iterable[Visit], operations: Iterable[Visit]) -> list[str]:
    """Return which visits came out otherwise than the tables say."""
    found = []
    for heading, visits in (("page", pages), ("operation", operations)):
        written = _read(text, heading)
        for visit in visits:
            row = (visit.door.group, visit.door.name.replace("_", " "), WHOSE[visit.door.target])
            expected = written.get(row, {}).get(visit.identity.name, "nothing")
            if expected != visit.outcome:
                found.append(f"{': '.join(row)} as {visit.identity.name}: {visit.outcome}, not {expected}")
    return sorted(set(found))


def _read(text: str, heading: str) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return what a table says, by group, name and whose row it is, for each identity."""
    lines = text.partition(f"| {heading} | of a row that is |")[2].partition("\n\n")[0].splitlines()
    columns = [cell.strip() for cell in lines[0].strip("|").split("|")]
    written: dict[tuple[str, str, str], dict[str, str]] = {}
    labels: list[tuple[str, str]] = []
    for line in lines[2:]:
        first, whose, *outcomes = (cell.strip() for cell in line.strip("|").split("|"))
        groups = [group.partition(": ") for group in first.split("; ") if group]
        labels = [(group, name) for group, _, names in groups for name in names.split(", ")] or labels
        written |= {(*label, whose): dict(zip(columns, outcomes, strict=True)) for label in labels}
    return written


def tables(pages: Iterable[Visit], operations: Iterable[Visit]) -> str:
    return f"{_table('page', pages)}\n\n{_table('operation', operations)}"


def _table(heading: str, visits: Iterable[Visit]) -> str:
    """Return a line for each kind of row, with all doors that answer alike in its first cell."""
    outcomes: dict[tuple[str, str], dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    columns: dict[str, None] = {}
    for visit in visits:
        columns[visit.identity.name] = None
        door = visit.door
        outcomes[door.group, door.name][door.target][visit.identity.name] = visit.outcome
    alike: dict[Outcomes, list[tuple[str, str]]] = defaultdict(list)
    for label, by_target in outcomes.items():
        cells = tuple((target, tuple(found.get(name, "") for name in columns)) for target, found in by_target.items())
        alike[cells].append(label)
    lines = [f"| {heading} | of a row that is | {' | '.join(columns)} |", f"|---|---|{'---|' * len(columns)}"]
    for cells, labels in sorted(alike.items(), key=lambda each: _names(each[1])):
        for number, (target, found) in enumerate(cells):
            first = _names(labels) if number == 0 else ""
            lines.append(f"| {first} | {WHOSE[target]} | {' | '.join(found)} |")
    return "\n".join(lines)


def _names(labels: list[tuple[str, str]]) -> str:
    """Return `endpoint: change, settings; message: change`."""
    groups: dict[str, list[str]] = defaultdict(list)
    for group, name in sorted(labels):
        groups[group].append(name.replace("_", " "))
    return "; ".join(f"{group}: {', '.join(dict.fromkeys(names))}" for group, names in groups.items())
