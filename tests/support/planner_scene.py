"""The built-in optimiser and its runner, killed at each step (tests/processes/test_kills.py)."""

import json
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from kilit.lock.models import Event
from orchestrator.cutting import solving
from orchestrator.workflow import planning_step, watching
from orchestrator.workflow.by_hand import cut_by_hand
from tests.support.cutting_jobs import make_job
from tests.support.cutting_rules import SHIPPED
from tests.support.cutting_runs import at_the_move_out_of, let_leases_lapse, work_until
from tests.support.kills import Scene, after, before


class Planner(Scene):
    """No job is planned into two results, and people get it once."""

    points: ClassVar = {
        "before the solver starts": before(solving, "run_program"),
        "before the plan is stored": before(planning_step, "store"),
        "before it commits the plan": at_the_move_out_of("PREPARED"),
        "after it committed the plan": after(planning_step, "store"),
        "before people get it": at_the_move_out_of("OPTI_DONE"),
    }
    work = staticmethod(lambda: watching.watch(threading.Event()))

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        if solving.missing():
            pytest.skip("there is no optimiser here")
        for name in ("customer", "floor"):
            get(name)
        get("rules_file").write_text(json.dumps({**SHIPPED, "cutBy": "hand"}))
        self.job = make_job(opti_mode="D")

    def go_on(self) -> None:
        let_leases_lapse()
        work_until(self.job, "XML_READY")

    def prove(self) -> None:
        assert self.job.solution_files.count() == 1
        assert cut_by_hand(self.job.pk, by="Mehmet").status == "DONE"
        moves = [event.to_state for event in Event.objects.of(self.job) if event.from_state != event.to_state]
        assert moves == ["NEW", "PREPARED", "OPTI_DONE", "XML_READY", "DELIVERED", "DONE"]
