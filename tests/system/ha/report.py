"""What the rounds found, from what clients noted and what is stored."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.system.chaos.report import Finding

MOST_SHOWN = 5


@dataclass
class Round:
    """One round, and what was found after it."""

    kind: str
    leader: str
    silence: float  # seconds without an acknowledged write
    errors: Counter[str]
    acknowledged: int
    lost: list[str]
    doubled: list[str]
    seconds: float = 0.0
    restarts: int = 0
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def violations(self) -> list[str]:
        """Everything that must not be."""
        found = [f"acknowledged, but not stored: {key}" for key in self.lost]
        found += [f"stored more than once: {key}" for key in self.doubled]
        found += [f"a client got {kind} ({number} times)" for kind, number in self.errors.items() if is_defect(kind)]
        return found + [f"{finding.name}: {breach}" for finding in self.findings for breach in finding.breaches]


def is_defect(kind: str) -> bool:
    """Return whether an error is not what a client should get while the database is away."""
    return kind.startswith("5") and not kind.startswith("503")


def longest_silence(times: Iterable[float], *, start: float, end: float) -> float:
    """Return the longest time without an acknowledged write, the beginning and the end included."""
    moments = [start, *sorted(at for at in times if start <= at <= end), end]
    return max(after - before for before, after in pairwise(moments))


def error_kinds(lines: Iterable[dict[str, Any]], *, start: float) -> Counter[str]:
    """Count errors since a moment: a status with its code, or how a connection failed."""
    kinds: Counter[str] = Counter()
    for line in lines:
        if line.get("at", 0.0) < start or line["what"] not in ("refused", "unanswered"):
            continue
        reply = line.get("reply") or {}
        error = reply.get("error") if isinstance(reply, dict) else None
        code = error.get("code", "") if isinstance(error, dict) else (error or "")
        kinds[f"{line['status']} {code}".strip() if "status" in line else line["error"]] += 1
    return kinds


def compare(acknowledged: Iterable[str], stored: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return what was acknowledged and is not stored, and what is stored more than once."""
    counted = Counter(stored)
    lost = sorted(set(acknowledged) - counted.keys())
    return lost, sorted(key for key, number in counted.items() if number > 1)


def table(seed: int, rounds: list[Round]) -> str:
    """Return the summary as Markdown."""
    head = [
        "round",
        "what",
        "leader then",
        "silence",
        "errors",
        "acknowledged",
        "lost",
        "doubled",
        "invariants",
        "took",
    ]
    lines = [f"High availability, seed {seed}.", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for number, one in enumerate(rounds, start=1):
        errors = ", ".join(f"{kind}: {count}" for kind, count in sorted(one.errors.items())) or "none"
        broken = sum(bool(finding.breaches) for finding in one.findings)
        kept = f"**{broken} broken**" if broken else f"{len(one.findings)} kept"
        cells = [number, one.kind, one.leader, f"{one.silence:.1f} s", errors, f"{one.acknowledged:,}"]
        cells += [len(one.lost), len(one.doubled), kept, f"{one.seconds:.0f} s"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", *(f"Round {number} {note}" for number, one in enumerate(rounds, start=1) for note in one.notes)]
    for number, one in enumerate(rounds, start=1):
        found = one.violations
        lines += ["", f"Round {number}:", *(f"  {text}" for text in found[:MOST_SHOWN])] if found else []
        lines += [f"  and {len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else []
    longest = {kind: max(one.silence for one in rounds if one.kind == kind) for kind in {one.kind for one in rounds}}
    silences = ", ".join(f"{seconds:.1f} s in a {kind}" for kind, seconds in sorted(longest.items()))
    total, restarts = sum(one.acknowledged for one in rounds), sum(one.restarts for one in rounds)
    lines += ["", f"{total:,} rows acknowledged. Longest silence: {silences}. Services that ended: {restarts}."]
    return "\n".join([*lines, "BROKEN: see above." if is_broken(rounds) else "Nothing lost, nothing doubled."])


def is_broken(rounds: list[Round]) -> bool:
    """Return whether any round found what must not be."""
    return any(one.violations for one in rounds)
