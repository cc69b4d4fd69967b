"""Random walks of runners, operators, time and faults keep what must always hold."""

import json
import shutil
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from django.db import transaction
from django.db.models.functions import Now
from hypothesis import example, given
from hypothesis import strategies as st

from kilit.api.errors import ApiError
from kilit.lock.guard import MoveRefused
from kilit.lock.models import Count, Event
from orchestrator.folders import Folders
from orchestrator.models import Customer, Job
from orchestrator.saw.saw_handover import release_lapsed
from orchestrator.states import JOBS
from orchestrator.workflow import decisions
from orchestrator.workflow.runner import work
from orchestrator.workflow.saw_choice import choose_saw
from tests.support.cutting_jobs import GOVDE, make_job
from tests.support.cutting_rules import SHIPPED
from tests.support.cutting_runs import player
from tests.support.examples import few

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_rest_at_once")]

MACHINES = {
    "optiplanning": {"only": "opti"},
    "saw": {"only": "saw"},
    "saw refuses": {"only": "saw", "saw_fault": "failed"},
}
# The file leaves the inbox and is shown nowhere; whether it was cut is seen only at the saw.
HIDDEN = ("saw cuts unseen", "file is lost")
DECISIONS = ("retry", "approve", "cancel", "confirm_cut", "hand_over")
JOB = st.integers(0, 2)
ACTIONS = st.one_of(
    st.tuples(st.sampled_from(["step", "step", "step", "claim and die"])),
    st.tuples(st.sampled_from(DECISIONS), JOB),
    st.tuples(st.sampled_from([*MACHINES, *HIDDEN, "lapse", "rules break", "rules fixed"])),
    st.tuples(st.sampled_from(["xml late", "ack late"]), JOB),
)
STEPS = [("step",)] * 4
TO_THE_SAW = [*STEPS, ("optiplanning",), ("approve", 0), *STEPS]
TOO_LATE = [("ack late", 0), *STEPS]
SECOND_TRY = [*STEPS, ("saw",), *STEPS]
SAWS = [{"name": "Saw 1"}, {"name": "Saw 2"}]
CHOICES = st.one_of(ACTIONS, st.tuples(st.just("choose"), JOB), st.just(("locked step",)))
OTHER_SAW = [("choose", 0), ("retry", 0), *STEPS, ("approve", 0), *STEPS, ("saw",), *STEPS]


class World:
    """Three orders of mode C, one machine park, and everything that may happen to them."""

    def __init__(self, folders: Folders, rules: Path, **always: object) -> None:
        self.folders, self.rules, self.always = folders, rules, always
        self.fix_rules()
        for folder in folders.all().values():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        Customer.objects.create(phone="+905551234567", name="Ayşe")
        self.cut_unseen: list[str] = []
        self.jobs = [make_job(order_id=f"S-{number}", opti_mode="C", parts=[GOVDE]) for number in range(3)]

    def fix_rules(self, **broken: object) -> None:
        self.rules.write_text(json.dumps(SHIPPED | self.always | broken))

    def do(self, action: str, *which: int) -> None:
        """Let something happen."""
        if action in DECISIONS:
            self.decide(action, which[0])
        elif action == "choose":
            self.choose(which[0])
        elif action in HIDDEN:
            for path in self.files_in("inbox"):
                path.unlink()
                self.cut_unseen += [path.name[:36]] if action == "saw cuts unseen" else []
        elif action in ("xml late", "ack late"):
            column = "opti_started_at" if action == "xml late" else "handed_at"
            late = Job.objects.filter(pk=self.jobs[which[0]].pk).exclude(**{column: None})
            late.update(**{column: Now() - timedelta(hours=1)})
        elif action.startswith("rules"):
            self.fix_rules(trimByThickness={"8": 5}) if action == "rules break" else self.fix_rules()
        elif action in MACHINES:
            player(self.folders, **MACHINES[action]).look()
        else:
            self.run(action)

    def files_in(self, name: str) -> list[Path]:
        saws = (self.folders.saw, *self.folders.further_saws.values())
        return [path for saw in saws for path in (saw / name).glob("*.xml")]

    def run(self, action: str) -> None:
        """Let a runner work a job, die over one, or be found dead."""
        if action == "lapse":
            Job.objects.exclude(lease_until=None).update(lease_until=Now() - timedelta(seconds=1))
            release_lapsed()
            return
        Job.objects.update(next_run_at=Now())
        job = Job.objects.claim()
        if job and action == "step":
            work(job, patient=True)
        elif job and action == "locked step":  # the saw has its file open when it is wanted back
            with patch.object(Path, "replace", side_effect=PermissionError(13, "Permission denied")):
                work(job, patient=True)

    def decide(self, verb: str, number: int) -> None:
        """Let an operator click, who asks at the saw before answering for it."""
        was_cut = str(self.jobs[number].pk) in self.cut_unseen
        if verb == ("hand_over" if was_cut else "confirm_cut"):
            return
        try:
            with transaction.atomic():
                getattr(decisions, verb)(self.jobs[number].pk)
        except (ApiError, MoveRefused):
            pass

    def choose(self, number: int) -> None:
        """Let an operator choose the other saw."""
        job = Job.objects.get(pk=self.jobs[number].pk)
        try:
            with transaction.atomic():
                choose_saw(job.pk, "Saw 1" if job.saw == "Saw 2" else "Saw 2")
        except ApiError:
            pass

    def check(self) -> None:
        """Look at what must hold after every action."""
        jobs = {job.pk: job for job in Job.objects.all()}
        assert sum(job.status == "OPTI_RUNNING" for job in jobs.values()) <= 1
        taken = [*self.cut_unseen, *(path.name[:36] for path in self.files_in("processed"))]
        waiting = [path.name[:36] for path in self.files_in("inbox")]
        for job in jobs.values():
            assert job.status in JOBS.states
            events = list(Event.objects.of(job))
            state = ""
            for event in events:
                assert event.from_state == state
                state = event.to_state
            assert state == job.status
            assert job.retry_count == sum(event.event_type == "JOB_RETRY_SCHEDULED" for event in events) <= 3
            assert (job.claim_token is None) == (job.lease_until is None)
            # The saw has a file at most once, and a finished job's exactly once.
            assert taken.count(str(job.pk)) <= 1
            assert waiting.count(str(job.pk)) <= 1
            assert job.status not in ("DELIVERED", "DONE") or taken.count(str(job.pk)) == 1
        counted = {state: n for state in JOBS.states if (n := sum(j.status == state for j in jobs.values()))}
        assert Count.objects.by_state(queue=JOBS.queue) == counted


@few(20)
@given(actions=st.lists(ACTIONS, max_size=30))
@example(actions=[*TO_THE_SAW, ("saw cuts unseen",), *TOO_LATE, ("retry", 0), *SECOND_TRY, ("confirm_cut", 0)])
@example(actions=[*TO_THE_SAW, ("file is lost",), *TOO_LATE, ("retry", 0), ("hand_over", 0), *SECOND_TRY])
def test_any_walk_keeps_the_promises(actions, floor, rules_file) -> None:
    with transaction.atomic():
        world = World(floor, rules_file)
        for action in actions:
            world.do(*action)
            world.check()
        transaction.set_rollback(True)


@few(20)
@given(actions=st.lists(CHOICES, max_size=30))
@example(actions=[*TO_THE_SAW, *TOO_LATE, *OTHER_SAW])
@example(actions=[*TO_THE_SAW, ("saw cuts unseen",), *TOO_LATE, *OTHER_SAW, ("confirm_cut", 0)])
@example(actions=[*TO_THE_SAW, ("file is lost",), *TOO_LATE, ("hand_over", 0), ("choose", 0), *SECOND_TRY])
@example(actions=[*TO_THE_SAW, ("ack late", 0), ("locked step",), ("hand_over", 0), ("choose", 0), *SECOND_TRY])
@example(actions=[*TO_THE_SAW, ("claim and die",), ("choose", 0), ("lapse",), *TOO_LATE, *OTHER_SAW])
def test_any_walk_among_two_saws_keeps_the_promises(actions, floor, settings, rules_file) -> None:
    settings.SAW_FOLDERS = {"Saw 2": floor.saw.with_name("saw 2")}
    with transaction.atomic():
        world = World(Folders.from_settings(), rules_file, saws=SAWS)
        for action in actions:
            world.do(*action)
            world.check()
        transaction.set_rollback(True)


@pytest.mark.slow  # takes seconds: many rows, many rounds or a wait
def test_after_any_mess_three_orders_still_reach_the_saw(floor, rules_file) -> None:
    """When everything is fixed, operators bring each order to DONE, once."""
    world = World(floor, rules_file)
    for action in ("rules break", "step", "step", "claim and die", "lapse", "rules fixed"):
        world.do(action)

    for _ in range(60):
        if not Job.objects.exclude(status="DONE").exists():
            break
        for number in range(3):
            world.do("approve", number)
        for action in ("step", "optiplanning", "saw"):
            world.do(action)
        world.check()

    assert set(Job.objects.values_list("status", flat=True)) == {"DONE"}
    assert len(list(floor.processed.iterdir())) == 3
