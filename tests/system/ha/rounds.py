"""One round: clients work, the leader goes, another leads, everything comes to rest, and every guarantee is checked."""

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ociqueue.models import Conversion
from orchestrator.models import Job
from pdfjobs.models import PdfJob
from tests.support.waiting import wait_until
from tests.system.ha import report, rest
from tests.system.ha.cluster import Cluster
from tests.system.ha.report import Round
from tests.system.ha.schedule import FAILOVER, Turn
from tests.system.ha.stage import CLIENTS, Machines


@dataclass
class Play:
    """Everything of a run, in the form that the checks of a chaos run read."""

    seed: int
    folder: Path
    world: dict[str, Any]
    cluster: Cluster
    stage: Machines
    bucket: str
    google: Any
    data_manager: Any
    receiver: Any
    missed: int = 0
    struck: Counter[str] = field(default_factory=Counter)

    @property
    def floor(self) -> Path:
        """The folders of OptiPlanning and the saw."""
        return self.folder / "floor"

    def play(self, turn: Turn) -> Round:
        """Play one round to its end."""
        begun, restarts = time.monotonic(), self.stage.restarts
        self.stage.start(*CLIENTS)
        wait_until(lambda: self.writes(since=begun))
        start = time.monotonic()
        self.watch(turn.before)
        struck = time.monotonic()
        leader = self.cluster.fail_over() if turn.kind == FAILOVER else self.cluster.switch_over()
        changed = time.monotonic()
        wait_until(lambda: self.writes(since=changed))
        self.watch(turn.after)
        end = time.monotonic()
        kinds = report.error_kinds(self.lines(), start=start)
        silence = report.longest_silence(self.writes(since=start), start=struck, end=end)
        acknowledged = sum(len(line["ids"]) for line in self.lines("made") if line.get("at", 0.0) >= begun)
        wait_until(self.cluster.is_synchronous)
        unfinished = rest.settle(self.stage, self.world, self.folder)
        rest.clean_up(self.bucket)
        checked = rest.check(self.seed, self.folder, self, unfinished=unfinished)
        lost, doubled = report.compare(self.acknowledged(), self.stored())
        return Round(
            turn.kind, leader.name, silence, kinds, acknowledged, lost, doubled,
            seconds=time.monotonic() - begun, restarts=self.stage.restarts - restarts,
            findings=checked.findings, notes=[note for note in checked.notes if note.startswith("audited")],
        )  # fmt: skip

    def watch(self, seconds: float) -> None:
        """Let everybody work, and start again what ends."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.tend()
            time.sleep(0.1)

    def tend(self) -> None:
        """Start again what has ended of Kilit; what Debian runs does not end."""
        self.stage.tend()
        self.cluster.daemons.check()

    def lines(self, what: str = "") -> list[dict[str, Any]]:
        """Return what clients noted, of one word or of all."""
        found = []
        for path in sorted((self.folder / "ledger").glob("*.jsonl")):
            noted = [json.loads(line) for line in path.read_text().splitlines()]
            found += [line for line in noted if not what or line["what"] == what]
        return found

    def writes(self, *, since: float) -> list[float]:
        """Return when writes were acknowledged."""
        self.tend()
        return [line["at"] for line in self.lines("made") if line.get("at", 0.0) >= since]

    def acknowledged(self) -> set[str]:
        """Return the keys of everything that was ever acknowledged."""
        return {key for line in self.lines("made") for key in line["ids"]}

    def stored(self) -> list[str]:
        """Return the keys of everything that is stored, each as often as it is."""
        documents = [str(pk) for pk in PdfJob.objects.values_list("pk", flat=True)]
        jobs = [str(pk) for pk in Job.objects.values_list("pk", flat=True)]
        orders = [f"order {name}" for name in Job.objects.values_list("order_id", flat=True)]
        # A corrected copy of a conversion has no key.
        conversions = Conversion.objects.exclude(source_key=None).values_list("source_key", flat=True)
        return [*conversions, *documents, *jobs, *orders]
