"""How long test files take, so that a run can begin with the longest and no worker waits alone at the end.

`make durations` measures all files and writes `tests/durations.json`; `make quick` leaves out the files in it.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.support.commands import ROOT

FILE = ROOT / "tests" / "durations.json"
LISTED_FROM = 3  # seconds; shorter files fill the gaps
SLOW = 30  # seconds; a file that takes so long must be listed


def listed() -> dict[str, float]:
    found: dict[str, float] = json.loads(FILE.read_text())
    return found


def longest_first(items: list[pytest.Item]) -> None:
    """Sort by what is listed; files that start processes and are not listed come before the rest."""
    known = listed()

    def seconds(item: pytest.Item) -> float:
        return known.get(_file(item.nodeid), LISTED_FROM if item.get_closest_marker("processes") else 0)

    items.sort(key=seconds, reverse=True)


def leave_out_long(items: list[pytest.Item]) -> list[pytest.Item]:
    """Remove the tests of listed files; return them."""
    long = listed()
    removed = [item for item in items if _file(item.nodeid) in long]
    items[:] = [item for item in items if _file(item.nodeid) not in long]
    return removed


def measured(stats: Mapping[str, Sequence[Any]]) -> Counter[str]:
    """Return the seconds that each file took, setup and teardown included."""
    taken: Counter[str] = Counter()
    for report in {id(report): report for reports in stats.values() for report in reports}.values():
        if isinstance(report, pytest.TestReport):
            taken[_file(report.nodeid)] += report.duration  # type: ignore[assignment]
    return taken


def unlisted(taken: Mapping[str, float]) -> list[str]:
    return sorted({file for file, seconds in taken.items() if seconds > SLOW} - set(listed()))


def store(taken: Mapping[str, float]) -> None:
    """Replace the figures of the files measured, and drop files that are gone."""
    known = {**listed(), **taken}
    long = {
        file: round(seconds) for file, seconds in known.items() if seconds >= LISTED_FROM and (ROOT / file).exists()
    }
    FILE.write_text(json.dumps(dict(sorted(long.items(), key=lambda each: -each[1])), indent=2) + "\n")


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
