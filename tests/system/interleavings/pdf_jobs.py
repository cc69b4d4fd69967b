"""Who may meet on a PDF job. What a worker renders is a file that names its job and the claim that it belongs to."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from kilit.lock.audit import acting_as
from kilit.lock.guard import MoveRefused
from pdfjobs import cleanup, work
from pdfjobs.enqueue import enqueue
from pdfjobs.job_request import parse_job_request
from pdfjobs.models import PdfJob
from pdfjobs.states import ErrorCode, PdfStatus
from pdfjobs.storage import artifacts
from tests.support.pdf_jobs import PDF, body, bring, new_job
from tests.system.interleavings.meeting import LATE, OPERATOR, SWEEP, Person, Queue, World

OLD = timedelta(days=365)


def own(world: World) -> Any:
    return PdfJob.objects.filter(pk=world.row.pk)


def in_state(status: str, *, age: timedelta = timedelta(0), **options: str) -> Callable[[], World]:
    def make() -> World:
        world = World(bring(new_job(), status, **options))
        if age:
            own(world).update(**{"queued_at" if status == PdfStatus.QUEUED else "finished_at": Now() - age})
        return world

    return make


def claimed() -> World:
    """Return a job whose worker is slow: it has rendered the file, and its lease is over."""
    new_job()
    (job,) = PdfJob.objects.claim()
    world = World(job, {"file": store(job)})
    own(world).update(lease_until=Now() - timedelta(seconds=1))
    return world


def retried() -> World:
    world = in_state(PdfStatus.FAILED)()
    with acting_as(OPERATOR):
        own(world).retry_selected()
    world.row.refresh_from_db()
    return world


def store(job: PdfJob) -> artifacts.Artifact:
    assert job.started_at
    return artifacts.save(artifacts.new_key(job.pk, job.started_at), PDF)


def render(world: World) -> None:
    """Do what a worker does for the job whose turn it is."""
    for job in PdfJob.objects.claim():
        work.finish(job, store(job))


def take_over(world: World) -> None:
    with acting_as(SWEEP):
        PdfJob.objects.recover()
    render(world)


def undo(world: World) -> None:
    as_left = own(world).filter(updated_at=world.row.updated_at, claim_token=None)
    as_left.move("undo_retry", finished_at=Now(), error_code=ErrorCode.UNKNOWN)


def order_again(world: World) -> None:
    enqueue(world.row.owner, parse_job_request(body()))


def check(world: World) -> Iterator[str]:
    """A document has the file of its own claim, and there is one live job for it."""
    for job in PdfJob.objects.filter(status=PdfStatus.SUCCEEDED):
        assert job.started_at
        if job.artifact_key != artifacts.new_key(job.pk, job.started_at):
            yield f"{job.artifact_key} is of another claim than that of {job.started_at}"
        if not artifacts.exists(job.artifact_key) and not PdfJob.objects.filter(status=PdfStatus.EXPIRED).exists():
            yield f"{job.artifact_key} is missing"
    if not PdfJob.objects.filter(pk=world.row.pk).exists():
        yield "the job is lost"


PDF_JOBS = Queue(
    "PDF job",
    (PdfJob,),
    places={
        "new": in_state(PdfStatus.QUEUED),
        "retried": retried,
        "claimed": claimed,
        "failed": in_state(PdfStatus.FAILED),
        "done": in_state(PdfStatus.SUCCEEDED),
        "old and new": in_state(PdfStatus.QUEUED, age=OLD),
        "old and failed": in_state(PdfStatus.FAILED, age=OLD),
        "old and done": in_state(PdfStatus.SUCCEEDED, age=OLD),
    },
    people={
        "render": Person("worker:pdf", render, ("new", "retried", "old and new")),
        "finish late": Person(LATE, lambda w: work.finish(w.row, w.others["file"]), ("claimed",)),
        "fail late": Person(LATE, lambda w: work.fail(w.row, ErrorCode.BROWSER_CRASHED, "It crashed."), ("claimed",)),
        "release late": Person(LATE, lambda w: PdfJob.objects.held_by(w.row).release(), ("claimed",)),
        "take over": Person("worker:next", take_over, ("claimed",)),
        "reap": Person("sweep:pdf_reap", lambda _: work.recover(), ("claimed",)),
        "retry": Person("operator:ayse", lambda w: own(w).retry_selected(), ("failed", "old and failed")),
        "undo": Person("operator:can", undo, ("retried",)),
        "delete": Person(
            "operator:shop",
            lambda w: cleanup.delete_job(w.row),
            ("new", "retried", "claimed", "failed", "done"),
            refusals=(MoveRefused,),
        ),
        "clean up": Person(
            "sweep:pdf_cleanup", lambda _: cleanup.clean(), ("old and new", "old and failed", "old and done")
        ),
        "order again": Person(
            "key:shop", order_again, ("new", "retried", "claimed", "failed", "done", "old and failed", "old and done")
        ),
    },
    check=check,
)
