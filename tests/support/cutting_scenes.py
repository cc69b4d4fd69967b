"""Runners, the built-in optimiser and those who cut by hand, killed at each step (tests/processes/test_kills.py)."""

import json
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import pytest

from kilit.lock.models import Event
from orchestrator.cutting import solving
from orchestrator.models.by_hand import CutByHandQuerySet
from orchestrator.states import WORKING
from orchestrator.workflow import planning_step, steps, watching
from orchestrator.workflow.by_hand import cut_by_hand
from tests.support.cutting_jobs import make_job
from tests.support.cutting_rules import SHIPPED
from tests.support.cutting_runs import (
    at_the_move_out_of,
    command,
    exclusive_command,
    let_leases_lapse,
    player,
    work_until,
)
from tests.support.kills import Scene, after, before, die
from tests.support.stock import SMALL, in_state, kind_of_board, offcut, stock_adds_up


class Runner(Scene):
    """No sheet and no delivery is doubled, none is lost."""

    states = ("NEW", "PREPARED", "OPTI_IMPORTED", "OPTI_RUNNING", "OPTI_DONE", "XML_READY", "DELIVERED", "DONE")
    points: ClassVar = {
        **{f"at the step of {state}": partial(steps.STEPS.__setitem__, state, die) for state in WORKING},
        **{f"at the move out of {state}": at_the_move_out_of(state) for state in WORKING},
    }
    work = staticmethod(lambda: watching.watch(threading.Event()))

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        self.state = point.rpartition(" ")[2]
        get("customer")
        get("at_rest_at_once")
        self.floor = get("floor")
        get("settings").OPTI_COMMAND = exclusive_command(get("tmp_path") / "opti.log", self.floor, seconds=0)
        self.job, self.machines = make_job(), player(self.floor, only="saw")

    def look(self) -> None:
        self.machines.look()

    def go_on(self) -> None:
        self.job.refresh_from_db()
        assert (self.job.status, self.job.claim_token is None) == (self.state, False)
        let_leases_lapse()
        work_until(self.job, "DONE", machines=self.machines)

    def prove(self) -> None:
        moves = [event for event in Event.objects.of(self.job) if event.from_state != event.to_state]
        assert tuple(event.to_state for event in moves) == self.states
        sheets = sorted(path.name for path in self.floor.imports.iterdir())
        assert sheets == sorted(sheet["name"] for sheet in self.job.files)
        assert [path.name for path in self.floor.processed.iterdir()] == self.job.delivery_names
        assert list(self.floor.inbox.iterdir()) == []
        assert (len(self.job.delivery_names), self.job.retry_count) == (1, 0)


class RunnerWithStock(Runner):
    """The boards of OptiPlanning's solution are reserved with it, and booked with the job's end."""

    points: ClassVar = {
        "before it reserves boards of OPTI_RUNNING": before(steps, "reserve_stock"),
        "after it reserved boards of OPTI_RUNNING": after(steps, "reserve_stock"),
        "at the move out of OPTI_DONE": at_the_move_out_of("OPTI_DONE"),
        "at the move out of DELIVERED": at_the_move_out_of("DELIVERED"),
    }

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        get("rules_file").write_text(json.dumps({**SHIPPED, "stock": {}}))
        super().__init__(get, point)
        get("settings").OPTI_COMMAND = command(self.floor)
        self.kinds = [kind_of_board(2), kind_of_board(2, material_code="MAT-02", thickness_mm=5)]

    def go_on(self) -> None:
        assert stock_adds_up() == []
        super().go_on()

    def prove(self) -> None:
        super().prove()
        assert [in_state(board=kind) for kind in self.kinds] == [{"AVAILABLE": 1, "USED": 1}] * 2
        assert stock_adds_up() == []


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

    marks: ClassVar[tuple[Any, ...]] = (pytest.mark.nightly,)  # by day with a store, which does all of it and more
    rules: ClassVar[dict[str, Any]] = {**SHIPPED, "cutBy": "hand"}

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        if solving.missing():
            pytest.skip("there is no optimiser here")
        for name in ("customer", "floor"):
            get(name)
        get("rules_file").write_text(json.dumps(self.rules))
        self.job = make_job(opti_mode="D", parts=[SMALL])

    def go_on(self) -> None:
        let_leases_lapse()
        work_until(self.job, "XML_READY")

    def prove(self) -> None:
        assert self.job.solution_files.count() == 1
        assert cut_by_hand(self.job.pk, by="Mehmet").status == "DONE"
        moves = [event.to_state for event in Event.objects.of(self.job) if event.from_state != event.to_state]
        assert moves == ["NEW", "PREPARED", "OPTI_DONE", "XML_READY", "DELIVERED", "DONE"]


class PlannerWithStock(Planner):
    """No plan reserves twice, and what a job has is booked once."""

    points: ClassVar = {
        **Planner.points,
        "before it plans without stock": before(planning_step, "solve"),
        "between the plans without and with stock": after(planning_step, "solve"),
        "before it reserves": before(planning_step, "reserve"),
        "after it reserved, before the plan is stored": after(planning_step, "reserve"),
    }
    marks: ClassVar = ()
    rules: ClassVar = {**Planner.rules, "stock": {}}

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        super().__init__(get, point)
        get("monkeypatch").setattr(planning_step, "SECONDS", 6)
        kind_of_board(2)
        self.rest = offcut()

    def go_on(self) -> None:
        assert stock_adds_up() == []
        super().go_on()

    def prove(self) -> None:
        assert in_state() == {"AVAILABLE": 2, "RESERVED": 1}
        super().prove()
        self.rest.refresh_from_db()
        assert (self.rest.status, self.rest.job) == ("USED", self.job)
        assert [event.to_state for event in Event.objects.of(self.rest)] == ["AVAILABLE", "RESERVED", "USED"]
        assert stock_adds_up() == []


class CutByHand(PlannerWithStock):
    """Who says that it is cut may die, too: then it is cut, booked and left its offcuts, or none of it."""

    points: ClassVar = {
        "before the boards are noted": before(CutByHandQuerySet, "note_boards"),
        "after the boards are noted": after(CutByHandQuerySet, "note_boards"),
        "before it commits the end": after(CutByHandQuerySet, "finish_by_hand"),
    }

    def __init__(self, get: Callable[[str], Any], point: str) -> None:
        super().__init__(get, point)
        work_until(self.job, "XML_READY")
        self.work = partial(cut_by_hand, self.job.pk, by="Ayşe")  # type: ignore[assignment]


SCENES = (Runner, RunnerWithStock, Planner, PlannerWithStock, CutByHand)
