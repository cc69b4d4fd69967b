"""Runs sides in turns and tells the ratio of their medians.

A module of this folder takes part by a list `FIGURES`; `lock.py` is the smallest one. Figures in a row that share what
they stand `on` (a server, say) are measured together: each round calls every different side once, so that a slow moment
of the machine hits all of them, and a side that several figures name is measured once for all.
"""

import json
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

Side = Callable[[], float]


class NotMeasured(Exception):
    """Why a figure cannot be measured here, in words: a peer that is not installed, say."""


@dataclass
class Scope:
    """How much a run takes on: `make bench` ends within ten minutes, `make bench-full` takes the sizes in full."""

    full: bool = False
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Add a note below the table, once."""
        if text not in self.notes:
            self.notes.append(text)


scope = Scope()


@dataclass(frozen=True)
class Figure:
    """One comparison: each side does the same work and returns a number in `unit`; the ratio is ours to the other's.

    Without `other` the figure is only reported. `at_least` and `at_most` say what the ratio must reach. `on` is a
    context in which the sides run: what it makes ready is not measured.
    """

    name: str
    unit: str
    ours: Side
    other: Side | None = None
    against: str = ""
    at_least: float | None = None
    at_most: float | None = None
    on: Callable[[], AbstractContextManager[Any]] = nullcontext
    rounds: int = 5
    warm: bool = True

    def sides(self) -> list[Side]:
        """Return the sides there are."""
        return [self.ours, *([self.other] if self.other else [])]

    def must(self) -> str:
        """Say what the ratio must reach."""
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return f"≤ {self.at_most:g}" if self.at_most is not None else "reported"

    def reached(self, ratio: float) -> bool:
        """Tell whether a ratio is good enough."""
        if self.at_least is not None:
            return ratio >= self.at_least
        return self.at_most is None or ratio <= self.at_most


Result = dict[str, Any]


def measure_all(figures: Iterable[Figure]) -> Iterator[tuple[str, Result]]:
    """Measure figures group by group; one that cannot be measured does not keep the others."""
    for (on, _), group in groupby(figures, key=lambda figure: (figure.on, figure.rounds)):
        together = list(group)
        names = ", ".join(figure.name for figure in together)
        start = time.perf_counter()
        _say(f"{names} …")
        try:
            with on():
                taken = _take_turns(together)
        except Exception as reason:  # noqa: BLE001 - one figure must not cost the others
            if not isinstance(reason, NotMeasured):
                traceback.print_exc()
            _say(f"{names}: not measured: {reason}")
            yield from ((figure.name, {"error": str(reason), "must": figure.must()}) for figure in together)
            continue
        finally:
            delete_due_rows()
        _say(f"{names}: {time.perf_counter() - start:.0f} s")
        yield from ((figure.name, _result(figure, taken)) for figure in together)


def delete_due_rows() -> None:
    """Delete what the figures left, also one that failed: workers of the next ones would look at it all the time."""
    from django.db import connection

    from kilit.batches.queues import queues
    from kilit.database.sql import execute

    execute("SET session_replication_role = replica")  # no trigger keeps the rows
    for queue in (queue for queue in queues.values() if queue.due or hasattr(queue.model.objects, "claimable")):
        for rows in queue.due_rows():
            if rows.model is queue.model:
                queue.model.objects.filter(pk__in=list(rows.values_list("pk", flat=True)))._raw_delete(connection.alias)
    execute("RESET session_replication_role")


def _take_turns(figures: list[Figure]) -> dict[Side, list[float]]:
    """Warm every side up, then let them take turns."""
    sides = list(dict.fromkeys(side for figure in figures for side in figure.sides()))
    if all(figure.warm for figure in figures):
        for side in sides:
            side()
    taken: dict[Side, list[float]] = {side: [] for side in sides}
    for _ in range(figures[0].rounds):
        for side in sides:
            taken[side].append(side())
    return taken


def _result(figure: Figure, taken: dict[Side, list[float]]) -> Result:
    ours = taken[figure.ours]
    result: Result = {"ours": statistics.median(ours), "other": None, "ratio": None, "unit": figure.unit}
    if figure.other:
        other = taken[figure.other]
        result["other"] = statistics.median(other)
        result["ratio"] = result["ours"] / result["other"]
        # Neighbours in time are compared, so that a slow minute of the machine does not count as spread.
        each = [mine / theirs for mine, theirs in zip(ours, other, strict=True)]
        result["ratios"] = [round(ratio, 3) for ratio in each]
        result["reached"] = figure.reached(result["ratio"])
    result["spread"] = (max(ours) - min(ours)) / result["ours"] if result["ours"] else 0.0
    return {**result, "against": figure.against, "must": figure.must(), "full": scope.full}


def report(results: dict[str, Result], *, path: Path) -> str:
    """Write the figures for machines, beside those of earlier runs, and return them as a table for people."""
    path.parent.mkdir(parents=True, exist_ok=True)
    earlier = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(earlier | results, indent=2, ensure_ascii=False) + "\n")
    head = "| figure | ours | other | unit | ratio | rounds from – to | must reach | against |"
    lines = [head, "|---" * 8 + "|", *(_line(name, result) for name, result in results.items())]
    return "\n".join([*lines, *(f"\n{note}" for note in scope.notes)])


def _line(name: str, result: Result) -> str:
    if "error" in result:
        return f"| `{name}` | – | – | – | – | – | {result['must']} | not measured: {result['error']} |"
    ratio, spread = result["ratio"], f"± {result['spread'] / 2:.0%}"
    if ratio is not None:
        spread = f"{min(result['ratios']):.2f} – {max(result['ratios']):.2f}"
    ratio_text = "–" if ratio is None else f"{ratio:.2f}" + ("" if result["reached"] else " **missed**")
    sides = f"{_number(result['ours'])} | {_number(result['other'])} | {result['unit']}"
    return f"| `{name}` | {sides} | {ratio_text} | {spread} | {result['must']} | {result['against']} |"


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _say(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")
    sys.stderr.flush()
