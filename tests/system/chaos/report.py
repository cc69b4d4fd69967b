"""What a run found, as a table that people read."""

from collections import Counter
from dataclasses import dataclass, field

MOST_SHOWN = 5
LONG_RUN = 60  # seconds; everything has to be in play in a run of this length


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
    in_play: dict[str, int] = field(default_factory=dict)  # how often each part of the product was
    unfinished: list[str] = field(default_factory=list)  # what the calm gave up on, and why

    @property
    def is_kept(self) -> bool:
        """Whether every invariant held."""
        return not self.unfinished and not any(finding.breaches for finding in self.findings) and not self.untested

    @property
    def absent(self) -> list[str]:
        """What was not in play."""
        return [name for name, number in self.in_play.items() if not number]

    @property
    def untested(self) -> list[str]:
        """What was not in play in a run that is long enough for everything."""
        return self.absent if self.seconds >= LONG_RUN else []

    @property
    def verdict(self) -> str:
        """The run in one line, to be collected from many."""
        broken = [finding.name for finding in self.findings if finding.breaches]
        broken += ["it gave up"] if self.unfinished else []
        broken += [f"no {name}" for name in self.untested]
        absent = f"; not in play: {', '.join(self.absent)}" if self.absent and not self.untested else ""
        rows = sum(sum(states.values()) for states in self.states.values())
        about = f"{sum(self.struck.values())} strikes in {self.seconds:.0f} s, {rows} rows"
        return f"seed {self.seed}: {'kept' if self.is_kept else 'BROKEN: ' + ', '.join(broken)}; {about}{absent}"

    def format(self) -> str:
        """Return the report as Markdown."""
        lines = [f"Chaos, seed {self.seed}: {sum(self.struck.values())} strikes in {self.seconds:.0f} s.", ""]
        lines += ["| strike | times |", "|---|---|"]
        lines += [f"| {kind} | {number} |" for kind, number in sorted(self.struck.items())]
        lines += ["", "| queue | rows | how they ended |", "|---|---|---|"]
        for queue, states in self.states.items():
            ended = ", ".join(f"{state} {number}" for state, number in sorted(states.items()))
            lines.append(f"| {queue} | {sum(states.values())} | {ended} |")
        if self.in_play:
            lines += ["", "| in play | times |", "|---|---|"]
            lines += [f"| {name} | {number or '**none**'} |" for name, number in self.in_play.items()]
        lines += ["", "| invariant | kept |", "|---|---|"]
        lines += [f"| {f.about} | {f'**no**: {len(f.breaches)}' if f.breaches else 'yes'} |" for f in self.findings]
        lines += ["", *(f"- {note}" for note in self.notes)]
        for finding in self.findings:
            if finding.breaches:
                lines += ["", f"{finding.name}:", *(f"  {breach}" for breach in finding.breaches[:MOST_SHOWN])]
                more = len(finding.breaches) - MOST_SHOWN
                lines += [f"  and {more} more"] if more > 0 else []
        if self.unfinished:
            lines += ["", "The calm gave up, because nothing can move any more:"]
            lines += [f"  {reason}" for reason in self.unfinished[:MOST_SHOWN]]
        lines += ["", self._end()]
        return "\n".join(lines)

    def _end(self) -> str:
        if self.is_kept:
            return "All invariants kept."
        return f"Not in play: {', '.join(self.untested)}." if self.untested else "BROKEN: see above."
