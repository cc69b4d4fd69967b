"""Orders and cutting jobs."""

from datetime import timedelta
from itertools import count
from typing import Any

from django.db.models.functions import Now

from kilit.lock.leases import no_lease
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.models.job import failure
from orchestrator.orders.enqueue import enqueue
from orchestrator.orders.order import read_order
from tests.support.guarded_columns import write_unguarded
from tests.support.lifecycle_conformance import Specimen

PHONE = "0555 123 45 67"
LIST = "/admin/orchestrator/job/"


GOVDE = {
    "id": "g1",
    "part_type": "GOVDE",
    "material_code": "MAT-01",
    "length_cm": 120.5,
    "width_cm": 40,
    "quantity": 2,
    "grain": 1,
    "color": "Beyaz",
    "thickness_mm": 18,
    "edge_up": "1mm",
    "edge_lo": "1mm",
    "edge_sx": "040",
    "edge_dx": "Bant Yok",
}


ARKALIK = {
    "id": "a1",
    "part_type": "ARKALIK",
    "material_code": "MAT-02",
    "length_cm": 118,
    "width_cm": 38.25,
    "quantity": 1,
    "grain": 0,
    "color": "Beyaz",
    "thickness_mm": 5,
    "edge_up": "2mm",
}


def order_body(**changes: Any) -> dict[str, Any]:
    """Return an order with both part types, as an integrator sends it."""
    return {"order_id": "S-1001", "customer_phone": PHONE, "opti_mode": "A", "parts": [GOVDE, ARKALIK], **changes}


def make_job(**changes: Any) -> Job:
    """Store an order; of the same one there is only one job."""
    return enqueue(read_order(order_body(**changes), default_mode="C"))[0]


def held(code: Code = Code.CRM_NO_MATCH, message: str = "Fix it.", **changes: Any) -> Job:
    return make_job(**changes).move("hold", **failure(JobError(code, message)))


def failed(code: Code = Code.XML_INVALID, message: str = "It failed.", **changes: Any) -> Job:
    return make_job(**changes).move("fail", **failure(JobError(code, message)))


def page_of(client: Any, job: Job) -> Any:
    return client.get(f"{LIST}{job.pk}/change/")


NUMBERS = count()


def new_job(**columns: Any) -> Job:
    """Make a job, with the slot free for it: only one job at a time may be OPTI_RUNNING."""
    Job.objects.filter(status="OPTI_RUNNING").move("fail", **failure_columns())
    job = Job(
        **{
            "order_id": "S-1",
            "customer_phone": "+905551234567",
            "opti_mode": "C",
            "payload": {},
            "payload_hash": f"{next(NUMBERS):064}",
            "part_count": 1,
            **columns,
        }
    )
    job.save()
    return Job.objects.get(pk=job.pk)


def failure_columns() -> dict[str, Any]:
    return {**failure(JobError(Code.UNKNOWN, "no")), **no_lease()}


def give_to_saw(job: Any) -> None:
    uncut = {"cut_by": "", "cut_at": None, "boards_cut": 0}
    write_unguarded(Job.objects.filter(pk=job.pk), by_hand=False, **uncut)


def lose_sight(job: Any) -> None:
    """Let it be unknown whether the saw has cut a failed job."""
    give_to_saw(job)
    unknown = failure(JobError(Code.HANDOVER_UNKNOWN, "x.xml left inbox/."))
    Job.objects.filter(pk=job.pk).update(open_deliveries=["x.xml"], xml_sha256="0" * 64, **unknown)


def give_to_people(job: Any) -> None:
    """Let there be no saw for a job whose plan was checked."""
    is_begun = {"cut_by": "Mehmet", "cut_at": Now(), "boards_cut": 1} if job.status == "DELIVERED" else {}
    write_unguarded(Job.objects.filter(pk=job.pk), by_hand=True, **is_begun)


def error(answer: Any) -> dict[str, Any]:
    return answer.json()["error"]


DECIDED = {"open_deliveries": [], "error_code": "", "error_message": ""}
CUTTING_JOBS = Specimen(
    Job,
    make=new_job,
    changes={
        "start": lambda: {"opti_started_at": Now(), "attempt_started_at": Now()},
        "collect": lambda: {"xml_sha256": "0" * 64},
        "plan": lambda: {"xml_sha256": "0" * 64},
        "await_cutting": lambda: {"by_hand": True},
        "cut_by_hand": lambda: {"handed_at": Now(), "cut_by": "Mehmet", "cut_at": Now(), "boards_cut": 1},
        "finish_by_hand": lambda: {"finished_at": Now()},
        "cancel_rest": lambda: {"finished_at": Now(), "error_code": Code.CANCELLED},
        "cancel_uncut": failure_columns,
        "deliver": lambda: {"handed_at": Now()},
        "finish": lambda: {"finished_at": Now()},
        "hold": lambda: failure(JobError(Code.CRM_NO_MATCH, "nobody")),
        "fail": failure_columns,
        "cancel": failure_columns,
        "undo_retry": failure_columns,
        "reuse_solution": lambda: {"xml_sha256": "0" * 64},
        "confirm_cut": lambda: {"handed_at": Now(), "finished_at": Now(), **DECIDED},
        "hand_over": lambda: DECIDED,
    },
    before={
        "confirm_cut": lose_sight,
        "hand_over": lose_sight,
        **dict.fromkeys(("cut_by_hand", "finish_by_hand", "cancel_uncut", "cancel_rest"), give_to_people),
        **dict.fromkeys(("validate", "deliver", "finish"), give_to_saw),
    },
)


def minutes_ago(number: int) -> Any:
    return Now() - timedelta(minutes=number)


def job_waits(state: str, **columns: Any) -> None:
    job = CUTTING_JOBS.row_in(state)
    Job.objects.filter(pk=job.pk).update(**columns)


def orders(number: int, *, held: int, code: Code = Code.CRM_NO_MATCH) -> None:
    for _ in range(number):
        new_job()
    for _ in range(held):
        new_job().move("hold", **failure(JobError(code, "no")))


def finished(job: Job) -> Job:
    """Let a job be done, with a solution."""
    Job.objects.filter(pk=job.pk).update(solution={"boards_m2": "5.88"})
    for verb in ("prepare", "reuse_solution", "await_cutting", "cut_by_hand", "finish_by_hand"):
        CUTTING_JOBS.apply(job, verb)
    return Job.objects.get(pk=job.pk)
