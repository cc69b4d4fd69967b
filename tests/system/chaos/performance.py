"""One run: everything starts, the storm rages, it calms down, and every guarantee is checked."""

import argparse
import time
from pathlib import Path

from tests.system.chaos import calm, checking, in_play, recovery, strikes
from tests.system.chaos import world as worlds
from tests.system.chaos.report import LONG_RUN, Report
from tests.system.chaos.stage import CLIENTS, SERVICES
from tests.system.chaos.telling import tell

PLAY_ON = 5  # times the length of the storm at most, without strikes, until everything was in play


def perform(asked: argparse.Namespace, folder: Path, storm: strikes.Storm, *, port: int) -> Report:
    """Return what was found."""
    begun, stage = time.monotonic(), storm.stage
    receiver = storm.outside.receiver
    world = worlds.furnish(folder, seed=asked.seed, port=port, seconds=asked.seconds, receiver=receiver)
    tell(f"chaos: seed {asked.seed}, {folder}")
    stage.start(*SERVICES)
    stage.wait_for(f"http://127.0.0.1:{port}/readyz")
    stage.start(*CLIENTS)
    time.sleep(2)
    tell(f"chaos: the storm begins after {time.monotonic() - begun:.0f} s")
    breach = checking.Breach()
    storm.rage(strikes.schedule(asked.seed, asked.seconds), until=breach if asked.without else lambda: False)
    if asked.without:  # on a busy machine clients may not have met by now; without a guard they will
        storm.wait(until=breach, end=begun + asked.limit / 2)
    elif asked.seconds >= LONG_RUN:  # nor may everything have been in play
        storm.wait(until=in_play.Look(), end=time.monotonic() + PLAY_ON * asked.seconds)
    recoveries = recovery.measure(stage, port) if asked.seconds >= LONG_RUN and not asked.without else []
    tell(f"chaos: calm after {time.monotonic() - begun:.0f} s")
    if breach.seen:
        stage.stop()
        report = checking.check_moment(asked.seed, storm, seconds=asked.seconds)
    else:
        unfinished = calm.settle(stage, world, folder)
        report = checking.check(asked.seed, folder, storm, seconds=asked.seconds, unfinished=unfinished)
    report.findings += [recovery.finding(recoveries)] if recoveries else []
    report.notes += [
        *map(str, recoveries),
        f"{stage.restarts} services started again",
        *(
            f"a transaction was open for {left.seconds:.0f} s, {left.longest:.0f} without a break"
            for left in storm.left_open
        ),
        "the full disk was a tmpfs of 12 MB" if storm.disks else "no mounts: the full disk was RLIMIT_FSIZE of 0",
    ]
    return report
