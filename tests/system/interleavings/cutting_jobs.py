"""Who may meet on a cutting job, at the slot of OptiPlanning, and in the saw's folders."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from typing import Any

from django.db.models.functions import Now

from kilit.api.errors import ApiError
from kilit.lock.audit import acting_as
from kilit.lock.guard import MoveRefused
from kilit.lock.leases import MOST_LAPSES, ClaimLost
from orchestrator.errors import Code, JobError
from orchestrator.folders import Folders
from orchestrator.models import Job, SolutionFile
from orchestrator.orders.order import canonical, read_order
from orchestrator.saw.saw_handover import fail, fill_inbox, release_lapsed
from orchestrator.workflow import decisions
from tests.support.cutting_jobs import CUTTING_JOBS, lose_sight, make_job, order_body
from tests.system.interleavings.meeting import LATE, OPERATOR, SWEEP, Person, Queue, World

REFUSED = (MoveRefused, ClaimLost)
CONTENT = b"<solution/>"
Act = Callable[[World], object]


def own(world: World) -> Any:
    return Job.objects.filter(pk=world.row.pk)


@cache
def an_order() -> dict[str, Any]:
    return canonical(read_order(order_body(), default_mode="C"))


def folders() -> Folders:
    return Folders.from_settings()


# Places


def in_state(state: str, **columns: Any) -> Callable[[], World]:
    """Return what makes a job in a state, as nobody holds it."""

    def put() -> World:
        for folder in (folders().inbox, folders().processed, folders().failed):
            folder.mkdir(parents=True, exist_ok=True)
            for path in folder.iterdir():
                path.unlink()
        with acting_as("floor"):
            row = make_job() if state == "NEW" else CUTTING_JOBS.row_in(state, payload=an_order())
        Job.objects.filter(pk=row.pk).update(**columns)
        return World(Job.objects.get(pk=row.pk))

    return put


def claimed(make: Callable[[], World], *, lapses: int = 0) -> Callable[[], World]:
    """Return a job whose runner is slow: its lease is over."""

    def put() -> World:
        world = make()
        (world.row,) = [own(world).claim()]
        own(world).update(lease_until=Now() - timedelta(seconds=1), lapse_count=lapses)
        return world

    return put


def solved() -> World:
    """Return a job whose solution is about to be delivered."""
    world = in_state("XML_READY")()
    SolutionFile.objects.create(job=world.row, name="solution.xml", sha256="0" * 64, content=CONTENT)
    return world


def unknown() -> World:
    world = in_state("FAILED")()
    lose_sight(world.row)
    world.row.refresh_from_db()
    return world


def retried() -> World:
    world = in_state("FAILED")()
    with acting_as(OPERATOR):
        decisions.retry(world.row.pk)
    own(world).update(next_run_at=Now())
    world.row.refresh_from_db()
    return world


def two_for_the_slot() -> World:
    """Return two jobs that are held by two runners, and wait for OptiPlanning."""
    columns = {"attempt_started_at": Now(), "imported_at": Now()}
    first, second = (in_state("OPTI_IMPORTED", **columns)() for _ in range(2))
    for world in (first, second):
        world.row = own(world).claim()
    first.others["second"] = second.row
    return first


# People


def step(job: Job | None) -> None:
    """Take one step of a job that was claimed, and release it."""
    if job and job.status == "NEW":
        job.advance("prepare", "Prepared.", attempt_started_at=Now())
        job.release(next_run_at=Now())


def hand_over(world: World, job: Job | None) -> None:
    if job and job.status == "XML_READY":
        fill_inbox(job, folders())
        job.release(next_run_at=Now() + timedelta(minutes=1))


def taking_over(act: Callable[[World, Job | None], object]) -> Act:
    def take_over(world: World) -> None:
        with acting_as(SWEEP):
            release_lapsed()
        act(world, own(world).claim())

    return take_over


def cut(world: World) -> None:
    """Do what the saw does: it takes each file out of its inbox."""
    for path in folders().inbox.glob("[!.]*.xml"):
        path.rename(folders().processed / path.name)
        world.note(f"cut {path.name}")


def hand_over_to_saw(world: World, job: Job | None) -> None:
    """Deliver, and look for the saw's answer at once; the saw is as quick."""
    if job and job.status == "XML_READY":
        fill_inbox(job, folders())
        cut(world)


def undo(world: World) -> None:
    as_left = own(world).filter(updated_at=world.row.updated_at, claim_token=None)
    as_left.move("undo_retry", retry_count=0, error_code=Code.UNKNOWN)


def check(world: World) -> Iterator[str]:
    """The saw gets each file once, and knows of none that is not recorded."""
    cut(world)
    world.row.refresh_from_db()
    cuts = [what for what, _by in world.effects]
    if len(cuts) > 1:
        yield f"the saw took {cuts}"
    there = {path.name for folder in (folders().inbox, folders().processed) for path in folder.glob("[!.]*.xml")}
    if unrecorded := there - set(world.row.delivery_names):
        yield f"the saw has {unrecorded}, which is not recorded"
    if Job.objects.filter(status="OPTI_RUNNING").count() > 1:
        yield "two jobs have the slot"


NEW = ("new", "claimed")
JOBS = Queue(
    "cutting job",
    (Job,),
    places={
        "new": in_state("NEW"),
        "claimed": claimed(in_state("NEW")),
        "claimed too often": claimed(in_state("NEW"), lapses=MOST_LAPSES - 1),
        "retried": retried,
        "on hold": in_state("HOLD"),
        "failed": in_state("FAILED"),
        "unknown": unknown,
        "in OptiPlanning": in_state("OPTI_RUNNING"),
        "for the slot": two_for_the_slot,
        "solved": solved,
        "claimed and solved": claimed(solved),
    },
    people={
        "run": Person("worker:runner", lambda w: step(own(w).claim()), ("new", "retried"), refusals=REFUSED),
        "run late": Person(LATE, lambda w: step(w.row), ("claimed", "claimed too often"), refusals=REFUSED),
        "give up late": Person(
            LATE,
            lambda w: fail(w.row, JobError(Code.UNKNOWN, "It failed.")),
            ("claimed", "claimed too often", "claimed and solved"),
            refusals=REFUSED,
        ),
        "take over": Person(
            "worker:next", taking_over(lambda _w, job: step(job)), ("claimed", "claimed too often"), refusals=REFUSED
        ),
        "release": Person(
            "sweep:orchestrator", lambda _: release_lapsed(), ("claimed", "claimed too often", "claimed and solved")
        ),
        "take the slot": Person("worker:first", lambda w: Job.objects.take_slot(w.row), ("for the slot",)),
        "take the slot too": Person(
            "worker:second", lambda w: Job.objects.take_slot(w.others["second"]), ("for the slot",)
        ),
        "deliver": Person("worker:runner", lambda w: hand_over(w, own(w).claim()), ("solved",), refusals=REFUSED),
        "deliver late": Person(LATE, lambda w: hand_over(w, w.row), ("claimed and solved",), refusals=REFUSED),
        "deliver next": Person("worker:next", taking_over(hand_over_to_saw), ("claimed and solved",), refusals=REFUSED),
        "cut": Person("saw", cut, ("solved", "claimed and solved")),
        "retry": Person(
            "operator:ayse", lambda w: decisions.retry(w.row.pk), ("failed", "unknown"), refusals=(*REFUSED, ApiError)
        ),
        "undo": Person("operator:can", undo, ("retried",)),
        "approve": Person(
            "operator:ece", lambda w: decisions.approve(w.row.pk), ("on hold",), refusals=(*REFUSED, ApiError)
        ),
        "cancel": Person(
            "operator:ali",
            lambda w: decisions.cancel(w.row.pk),
            ("new", "claimed", "retried", "on hold", "in OptiPlanning", "for the slot", "solved"),
            refusals=(*REFUSED, ApiError),
        ),
        "confirm cut": Person(
            "operator:nur", lambda w: decisions.confirm_cut(w.row.pk), ("unknown",), refusals=(*REFUSED, ApiError)
        ),
        "hand over": Person(
            "operator:eda", lambda w: decisions.hand_over(w.row.pk), ("unknown",), refusals=(*REFUSED, ApiError)
        ),
        "send again": Person("key:shop", lambda _: make_job(), NEW),
    },
    check=check,
)
