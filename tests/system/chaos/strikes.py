"""The storm: what strikes, when and whom is decided by the seed alone, before anything starts."""

import logging
import os
import random
import resource
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connection

from kilit.postgres.base import configured_server
from kilit.postgres.place import DATA, home_of
from kilit.postgres.server import find_postmaster
from simulators.webhooks.receiver import WebhookReceiver
from tests.system.chaos import google_faults, leaps
from tests.system.chaos.open_transaction import OpenTransaction
from tests.system.chaos.simulated import Outside
from tests.system.chaos.stage import CLIENTS, SERVICES, Stage

logger = logging.getLogger(__name__)

# How likely each is, relative to the others.
WEIGHTS = {
    "kill": 6,  # SIGKILL to one process
    "kill a service": 3,  # SIGKILL to a whole service
    "pause": 6,  # SIGSTOP, and SIGCONT some seconds later
    "terminate connections": 4,  # pg_terminate_backend
    "restart PostgreSQL": 1,
    "crash PostgreSQL": 1,  # SIGKILL to the postmaster
    "fill the disk": 2,
    "remove the saw's folder": 2,
    "expire leases": 4,  # under living holders
    "cut the connection to Google": 2,
    "Google returns errors": 2,
    "Data Manager fails": 3,
    "the Google Ads API rejects the account": 1,  # its circuit opens, and a probe is due some seconds later
    "the Data Manager API rejects the account": 1,
    "the webhook receiver fails": 3,
    "leave a transaction open": 1,  # until the storm is over
}
# More often: processes that hold something.
TARGETS = [*SERVICES, *CLIENTS, "worker-1", "worker-2", "runner-1", "runner-2"]


@dataclass(frozen=True)
class Strike:
    """One strike; `pick` chooses among what runs at that moment."""

    at: float
    kind: str
    target: str
    pick: int
    length: float


def schedule(seed: int, seconds: float) -> list[Strike]:
    """Return the strikes of a seed: the same each time."""
    rng = random.Random(seed)
    strikes, at = [], 1.0
    while at < seconds:
        kind = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        strikes.append(Strike(at, kind, rng.choice(TARGETS), rng.randrange(1000), rng.uniform(1.0, 5.0)))
        at += rng.uniform(0.5, 2.0)
    # However short a run is, each kind strikes once.
    missing = [kind for kind in WEIGHTS if kind not in {strike.kind for strike in strikes}]
    for kind in missing:
        at = rng.uniform(1.0, seconds)
        strikes.append(Strike(at, kind, rng.choice(TARGETS), rng.randrange(1000), rng.uniform(1.0, 3.0)))
    return sorted(strikes, key=lambda strike: strike.at)


@dataclass
class Storm:
    """Strikes the stage, and undoes afterwards what a strike took away for a while."""

    stage: Stage
    outside: Outside
    disks: list[Path]  # small file systems of the run's own; none where they cannot be mounted
    floor: Path
    struck: Counter[str] = field(default_factory=Counter)
    missed: int = 0
    mending: list[threading.Timer] = field(default_factory=list)
    left_open: list[OpenTransaction] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Keep the servers at hand."""
        self.google, self.data_manager = self.outside.google, self.outside.data_manager
        self.receiver = self.outside.receiver

    def rage(self, strikes: list[Strike], *, until: Callable[[], bool] = lambda: False) -> None:
        """Strike at each one's time, until all has come or enough is seen."""
        begun = time.monotonic()
        waiting = list(strikes)
        while (waiting or any(timer.is_alive() for timer in self.mending)) and not until():
            while waiting and waiting[0].at <= time.monotonic() - begun:
                self.strike(waiting.pop(0))
            self.stage.tend()
            time.sleep(0.1)
        for transaction in self.left_open:
            transaction.end()

    def wait(self, *, until: Callable[[], bool], end: float) -> None:
        """Let everybody go on without strikes until enough is seen."""
        while not until() and time.monotonic() < end:
            self.stage.tend()
            time.sleep(0.1)

    def strike(self, strike: Strike) -> None:
        """Do one; what it takes away comes back after its time."""
        try:
            undo = STRIKES[strike.kind](self, strike)
        except (psutil.Error, Error, ImproperlyConfigured, OSError) as error:
            # Whom it was meant for has just died of another strike.
            logger.info("missed: %s (%s)", strike, error)
            self.missed += 1
            connection.close()
            return
        self.struck[strike.kind] += 1
        if undo:
            # By a thread of its own: this one may wait for a lock that a stopped process holds until it goes on.
            timer = threading.Timer(strike.length, undo)
            timer.daemon = True
            timer.start()
            self.mending.append(timer)

    def victim(self, strike: Strike) -> psutil.Process:
        """Return the process that a strike is for."""
        members = self.stage.members(strike.target)
        if not members:
            raise psutil.NoSuchProcess(0)
        return members[strike.pick % len(members)]


def kill(storm: Storm, strike: Strike) -> None:
    """Kill one process of a service: a leader, a worker, a browser."""
    storm.victim(strike).kill()


def kill_all(storm: Storm, strike: Strike) -> None:
    """Kill a whole service; it is started again at the next look."""
    for process in storm.stage.members(strike.target):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def pause(storm: Storm, strike: Strike) -> Callable[[], None]:
    """Stop a process, so that it goes on later as if nothing had happened."""
    victim = storm.victim(strike)
    victim.suspend()

    def go_on() -> None:
        with suppress(psutil.NoSuchProcess):
            victim.resume()

    return go_on


def terminate(_: Storm, strike: Strike) -> None:
    """End a third of the connections in the middle of whatever they do."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND (pid + %s) %% 3 = 0",
            [strike.pick],
        )


def restart_postgres(*_: Any) -> None:
    """Stop the server of this run; whoever connects next starts it."""
    connection.close()
    configured_server().stop()


def crash_postgres(*_: Any) -> None:
    """Kill the server of this run without a word."""
    connection.close()
    postmaster = find_postmaster(home_of(configured_server().folder) / DATA)
    if postmaster is None:
        raise ProcessLookupError
    os.kill(postmaster.pid, signal.SIGKILL)


def fill(storm: Storm, _: Strike) -> Callable[[], None]:
    """Fill the small disks; without them, forbid workers and runners to let a file grow."""
    if not storm.disks:
        return forbid_growth(storm)
    fillers = [disk / ".filler" for disk in storm.disks]
    for filler in fillers:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(65536))

    def empty() -> None:
        for filler in fillers:
            filler.unlink(missing_ok=True)

    return empty


def forbid_growth(storm: Storm) -> Callable[[], None]:
    """Stand in for a full disk: RLIMIT_FSIZE of 0, so that each write to a file fails."""
    names = [name for name in SERVICES if name.startswith(("worker", "runner"))]
    found = [process for name in names for process in storm.stage.members(name) if "python" in process.name()]

    def limit(size: int) -> None:
        for process in found:
            with suppress(ProcessLookupError, psutil.NoSuchProcess):
                _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, most))

    limit(0)
    return lambda: limit(resource.RLIM_INFINITY)


def take_away(storm: Storm, _: Strike) -> Callable[[], None]:
    """Let the saw's folder be gone for a while, as a share is; slower than any slow one."""
    place, aside = storm.floor / "saw", storm.floor / "saw-away"
    place.rename(aside)

    def bring_back() -> None:
        with suppress(FileNotFoundError):  # the run is over, and its folder gone
            aside.rename(place)

    return bring_back


def lapse(*_: Any) -> None:
    """Let time pass for holders only, so that sweeps take from the living what they hold."""
    leaps.lapse(share=0.5)


def reject_account(server: Any, reply: Any) -> Callable[[], None]:
    """Let an API reject the account, so that the circuit opens; the probe that may close it is due soon."""
    server.replies.appendleft(reply)

    def probe() -> None:
        # In a thread of its own, and the database may be away; then a later leap makes it due.
        with suppress(Error):
            leaps.make_probes_due()
        connection.close()

    return probe


FAULTS: list[dict[str, Any]] = [
    {"status": 500, "rate": 0.5},
    {"status": 200, "delay": 2.0},
    {"status": 429, "retry_after": "1"},
    {"closes": True},
]
FAIL_WITHIN = 120.0  # seconds


def fail_webhooks(storm: Storm, strike: Strike) -> Callable[[], None]:
    """Let the receiver of webhooks fail at random, be slow, ask for a pause, or hang up.

    On a busy machine no message may come in that time: one is failed in any case, so that it is tried again.
    """
    receiver = storm.receiver
    failed_before = failed(receiver)
    receiver.behave(**FAULTS[strike.pick % len(FAULTS)])

    def recover() -> None:
        receiver.behave(status=500)
        end = time.monotonic() + FAIL_WITHIN
        while failed(receiver) == failed_before and time.monotonic() < end:
            time.sleep(0.1)
        receiver.behaviours.clear()

    return recover


def failed(receiver: WebhookReceiver) -> int:
    return int(receiver.summary().get("failed", 0))


def leave_open(storm: Storm, _: Strike) -> None:
    """Hold a snapshot until the storm is over: no version of a row is removed meanwhile."""
    storm.left_open.append(OpenTransaction())
    storm.left_open[-1].start()


STRIKES: dict[str, Callable[[Storm, Strike], Callable[[], Any] | None]] = {
    "kill": kill,
    "kill a service": kill_all,
    "pause": pause,
    "terminate connections": terminate,
    "restart PostgreSQL": restart_postgres,
    "crash PostgreSQL": crash_postgres,
    "fill the disk": fill,
    "remove the saw's folder": take_away,
    "expire leases": lapse,
    "cut the connection to Google": lambda storm, _: google_faults.cut(storm.google, storm.data_manager),
    "Google returns errors": lambda storm, strike: google_faults.return_errors(storm.google, strike.pick),
    "Data Manager fails": lambda storm, strike: google_faults.fail_data_manager(storm.data_manager, strike.pick),
    "the Google Ads API rejects the account": lambda storm, _: reject_account(storm.google, google_faults.reject),
    "the Data Manager API rejects the account": lambda storm, _: reject_account(
        storm.data_manager, google_faults.REJECT
    ),
    "the webhook receiver fails": fail_webhooks,
    "leave a transaction open": leave_open,
}
