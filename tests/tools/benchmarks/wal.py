"""What PostgreSQL writes to its log (WAL) for a job, and how often it commits: both travel between machines."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from django.db import connection

from kilit.database.sql import execute, read_row
from kilit.postgres.binaries import bundled_programs
from tests.support.private_server import version_of
from tests.tools.benchmarks import drain, entry, pdf
from tests.tools.benchmarks.harness import Figure, NotMeasured, Side, scope
from tests.tools.benchmarks.peers import running as peers

JOBS = 5_000
RECORD = re.compile(r"^(\S+)\s+(\d+) \([^)]*\)\s+(\d+) \([^)]*\)\s+(\d+) \(", re.MULTILINE)
COMMIT = "Transaction/COMMIT"


class Cost(NamedTuple):
    """Of a job: bytes of records, bytes of whole pages (the first change after a checkpoint writes one), commits."""

    records: float
    pages: float
    commits: float

    @property
    def size(self) -> float:
        return self.records + self.pages


class Steps(NamedTuple):
    """How jobs get into a queue, and how they get out of it."""

    enqueue: Callable[[], object]
    drain: Callable[[], object]


@dataclass
class Log:
    """The log of the server of this run."""

    folder: Path
    program: Path

    @classmethod
    def open(cls) -> "Log":
        major = connection.pg_version // 10_000  # type: ignore[attr-defined]
        program = next((folder / "pg_waldump" for folder in bundled_programs() if version_of(folder) == major), None)
        if program is None:
            raise NotMeasured(f"there is no pg_waldump for PostgreSQL {major} here")
        # No checkpoint removes what is still to be read.
        execute("ALTER SYSTEM SET wal_keep_size = '4GB'")
        execute("SELECT pg_reload_conf()")
        return cls(Path(read_row("SHOW data_directory")[0]) / "pg_wal", program)

    def position(self) -> str:
        """Return where the log ends now, once all before it is on disk."""
        execute("SELECT pg_logical_emit_message(true, 'bench', '')")
        end = str(read_row("SELECT pg_current_wal_insert_lsn()")[0])
        while not read_row("SELECT pg_current_wal_flush_lsn() >= %s", [end])[0]:
            execute("SELECT pg_logical_emit_message(true, 'bench', '')")
        return end

    def cost(self, first: str, last: str, jobs: int) -> Cost:
        records = self.records(first, last)
        sizes, pages = (sum(record[part] for record in records.values()) for part in (1, 2))
        return Cost(sizes / jobs, pages / jobs, records.get(COMMIT, (0, 0, 0))[0] / jobs)

    def records(self, first: str, last: str) -> dict[str, tuple[int, int, int]]:
        """Return the number of records of each type, their bytes, and those of whole pages."""
        command = [self.program, f"--path={self.folder}", f"--start={first}", f"--end={last}", "--stats=record"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotMeasured(done.stderr.strip())
        return {name: (int(number), int(size), int(pages)) for name, number, size, pages in RECORD.findall(done.stdout)}


class Bench:
    log: Log
    costs: dict[str, Cost]


@contextmanager
def noted() -> Iterator[None]:
    Bench.log, Bench.costs = Log.open(), {}
    yield
    for name, cost in Bench.costs.items():
        scope.note(
            f"`wal`: {name}: {cost.records:,.0f} bytes of records and {cost.pages:,.0f} of whole pages a job,"
            f" {cost.commits * 1000:,.1f} commits for 1,000 jobs"
        )


@contextmanager
def beside_peers() -> Iterator[None]:
    with noted(), drain.served(), peers.running():
        yield


@contextmanager
def rendering() -> Iterator[None]:
    with noted(), peers.running(), pdf.on_stage():
        yield


def enqueue() -> None:
    rows = entry.conversions(JOBS)
    for first in range(0, JOBS, entry.BATCH):
        body = {"siteId": drain.Bench.site.public_id, "conversions": rows[first : first + entry.BATCH]}
        drain.Bench.clients[0].post("/api/oci/conversions", body)


OURS = Steps(enqueue, lambda: drain.take_pages(drain.Bench.clients[0]))
PROCRASTINATE = Steps(lambda: peers.enqueue_procrastinate(JOBS), lambda: peers.finish_procrastinate(JOBS))
DJANGO_Q2 = Steps(lambda: peers.enqueue_django_q2(JOBS), lambda: peers.finish_django_q2(JOBS))


def written(name: str, steps: Steps) -> Side:
    """Enqueue and drain after a checkpoint, and return the bytes of a job that was enqueued."""

    def measure() -> float:
        execute("CHECKPOINT")
        begin = Bench.log.position()
        steps.enqueue()
        between = Bench.log.position()
        steps.drain()
        end = Bench.log.position()
        Bench.costs[f"{name}, enqueued"] = Bench.log.cost(begin, between, JOBS)
        Bench.costs[f"{name}, drained"] = Bench.log.cost(between, end, JOBS)
        return Bench.costs[f"{name}, enqueued"].size

    return measure


def rendered() -> float:
    execute("CHECKPOINT")
    begin = Bench.log.position()
    pdf.made(pdf.JOBS)
    Bench.costs["PDFs, rendered"] = Bench.log.cost(begin, Bench.log.position(), pdf.JOBS)
    return Bench.costs["PDFs, rendered"].size


def size(name: str) -> Side:
    """Return what was measured by the side before it."""
    return lambda: Bench.costs[name].size


def commits(name: str) -> Side:
    return lambda: Bench.costs[name].commits * 1000


def figure(name: str, unit: str, ours: Side, other: Side, peer: str) -> Figure:
    against = f"{peer}; each after a checkpoint, with whole pages"
    return Figure(name, unit, ours, other, against, on=beside_peers, rounds=2, warm=False)


PEERS = {"procrastinate": PROCRASTINATE, "django_q2": DJANGO_Q2}
OUR_ENQUEUE = written("ours", OURS)
FIGURES = [
    *(
        figure(f"wal_enqueue_vs_{peer}", "bytes/job", OUR_ENQUEUE, written(peer, steps), f"a job of {peer}")
        for peer, steps in PEERS.items()
    ),
    *(
        figure(name, unit, read(f"ours, {step}"), read(f"{peer}, {step}"), f"a job of {peer}, {step}")
        for peer in PEERS
        for name, unit, read, step in (
            (f"wal_drain_vs_{peer}", "bytes/job", size, "drained"),
            (f"commits_enqueue_vs_{peer}", "commits/1,000", commits, "enqueued"),
            (f"commits_drain_vs_{peer}", "commits/1,000", commits, "drained"),
        )
    ),
    Figure("wal_render", "bytes/job", rendered, against="from POST to the stored PDF", on=rendering, rounds=2),
    Figure(
        "commits_render",
        "commits/1,000",
        commits("PDFs, rendered"),
        against="from POST to the stored PDF",
        on=rendering,
        rounds=2,
    ),
]
