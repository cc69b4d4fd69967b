"""Runs two sides in turns and tells the ratio of their medians."""

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 5


@dataclass(frozen=True)
class Figure:
    """One comparison: each side does the same work and returns how much of it a second."""

    name: str
    unit: str
    ours: Callable[[], float]
    other: Callable[[], float]
    against: str


def measure(figure: Figure) -> dict[str, float | str]:
    """Warm both sides up, then let them take turns, so that a slow moment of the machine hits both."""
    figure.ours(), figure.other()
    ours, other = zip(*[(figure.ours(), figure.other()) for _ in range(ROUNDS)], strict=True)
    result = {"ours": statistics.median(ours), "other": statistics.median(other), "unit": figure.unit}
    return {
        **result,
        "ratio": result["ours"] / result["other"],
        "spread": (max(ours) - min(ours)) / result["ours"],
        "against": figure.against,
    }


def report(results: dict[str, dict[str, float | str]], *, path: Path) -> str:
    """Write the figures for machines, and return them as a table for people."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n")
    lines = ["| figure | ours | other | unit | ratio | spread | against |", "|---|---|---|---|---|---|---|"]
    for name, r in results.items():
        sides = f"{r['ours']:,.0f} | {r['other']:,.0f} | {r['unit']}"
        lines.append(f"| `{name}` | {sides} | {r['ratio']:.2f} | {r['spread']:.0%} | {r['against']} |")
    return "\n".join(lines)
