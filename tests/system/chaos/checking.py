"""Runs every check of a finished run."""

import inspect
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from django.db import Error, connection

from kilit.audit.models import Audit
from kilit.audit.run import sentence
from simulators.googleads.responses import is_adjusting
from tests.system.chaos import calm, in_play, ledger
from tests.system.chaos.invariants import ALWAYS, INSIDE
from tests.system.chaos.outside import OUTSIDE, World, why_sent_again
from tests.system.chaos.report import Finding, Report
from tests.system.chaos.strikes import Storm

LOOK_EVERY = 1.0  # seconds


def check_moment(seed: int, storm: Storm, *, seconds: float) -> Report:
    """Ask what must hold at any moment: nothing has ended yet."""
    connection.close()  # the storm may have struck it
    report = Report(seed, seconds, storm.struck, storm.missed, storm.stage.restarts, calm.states())
    report.findings = [finding(ask) for ask in ALWAYS]
    return report


def check(seed: int, folder: Path, storm: Storm, *, seconds: float, unfinished: list[str]) -> Report:
    """Ask every invariant of a run that has come to rest."""
    calls = [call for call in storm.google.calls if not call.request.validate_only]
    uploads = [call for call in calls if not is_adjusting(call.request)]
    world = World(
        ledger=folder / "ledger",
        saw=storm.floor / "saw",
        saw_log=folder / "logs" / "machines.log",
        sent=Counter(row.order_id for call in uploads for row in call.request.conversions),
        applied=set(storm.google.applied),
        requests={
            request_id: request.transaction_ids
            for request_id, request in storm.data_manager.requests.items()
            if not request.validate_only
        },
        confirmed=storm.data_manager.applied,
        values={
            order_id: [json.loads(event)["conversionValue"] for event in entry.events]
            for order_id, entry in storm.data_manager.entries.items()
        },
        counted={
            order_id: None if one.is_retracted else one.value
            for (order_id, _), one in storm.google.books.counted.items()
        },
        outgoing=[
            *(call.raw for call in storm.google.calls),
            *(call.body for call in storm.data_manager.calls),
        ],
        accepted=Counter(storm.receiver.accepted),
        receiver=storm.receiver.summary(),
    )
    report = Report(seed, seconds, storm.struck, storm.missed, storm.stage.restarts, calm.states())
    report.unfinished, report.in_play = unfinished, in_play.count_parts()
    report.findings = [finding(ask) for ask in INSIDE] + [finding(ask, world) for ask in OUTSIDE]
    refused = Counter(line["status"] for line in ledger.lines(world.ledger, "refused"))
    report.notes.append(
        f"clients met {dict(sorted(refused.items()))} while something was away" if refused else "no 5xx"
    )
    twice = sum(number > 1 for number in world.sent.values())
    received = f"Google received {len(world.sent)} conversions, {twice} of them more than once, counted once"
    report.notes.append(f"{received}{why_sent_again(world)}")
    report.notes.append(
        f"Data Manager took {len(world.requests)} requests, answered {len(storm.data_manager.questions)} questions, and"
        f" counts {len(world.confirmed)} conversions"
    )
    messages = world.receiver
    report.notes.append(
        f"the receiver accepted {len(world.accepted)} messages, {messages.get('repeated', 0)} times again, and failed"
        f" {messages.get('failed', 0)} times"
    )
    report.notes.append(f"{storm.missed} strikes found no target")
    report.notes.append(f"audited: {sentence(Audit.objects.latest('pk'))}")
    return report


class Breach:
    """Looks now and then whether something is broken already: a run without a guard need not go on then."""

    def __init__(self) -> None:
        """Have seen nothing."""
        self.seen, self.next_look = False, 0.0

    def __call__(self) -> bool:
        """Tell whether a breach was seen."""
        if not self.seen and time.monotonic() > self.next_look:
            self.next_look = time.monotonic() + LOOK_EVERY
            try:
                self.seen = any(ask() for ask in ALWAYS)
            except Error:  # struck just now
                connection.close()
        return self.seen


def finding(ask: Any, *world: World) -> Finding:
    """Ask one; its docstring is what it promises."""
    about = " ".join(inspect.getdoc(ask).split())  # type: ignore[union-attr]
    return Finding(ask.__name__.replace("_", " "), about.rstrip("."), ask(*world))
