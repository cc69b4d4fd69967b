"""What a run found, as a table that people read."""

from collections import Counter
from dataclasses import dataclass, field

MOST_SHOWN = 5


@dataclass
class Finding:
    """One invariant, and what broke it."""

    name: str
    about: str
    breaches: list[str]


@dataclass
class Report:
    """One run."""

    seed: int
    seconds: float
    struck: Counter[str]
    missed: int
    restarts: int
    states: dict[str, dict[str, int]]
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_kept(self) -> bool:
        """Whether every invariant held."""
        return not any(finding.breaches for finding in self.findings)

    def format(self) -> str:
        """Return the report as Markdown."""
        lines = [f"Chaos, seed {self.seed}: {sum(self.struck.values())} strikes in {self.seconds:.0f} s.", ""]
        lines += ["| strike | times |", "|---|---|"]
        lines += [f"| {kind} | {number} |" for kind, number in sorted(self.struck.items())]
        lines += ["", "| queue | rows | how they ended |", "|---|---|---|"]
        for queue, states in self.states.items():
            ended = ", ".join(f"{state} {number}" for state, number in sorted(states.items()))
            lines.append(f"| {queue} | {sum(states.values())} | {ended} |")
        lines += ["", "| invariant | kept |", "|---|---|"]
        lines += [f"| {f.about} | {f'**no**: {len(f.breaches)}' if f.breaches else 'yes'} |" for f in self.findings]
        lines += ["", *(f"- {note}" for note in self.notes)]
        for finding in self.findings:
            if finding.breaches:
                lines += ["", f"{finding.name}:", *(f"  {breach}" for breach in finding.breaches[:MOST_SHOWN])]
                more = len(finding.breaches) - MOST_SHOWN
                lines += [f"  and {more} more"] if more > 0 else []
        lines += ["", "All invariants kept." if self.is_kept else "BROKEN: see above."]
        return "\n".join(lines)
