"""Cutting jobs conform to the lock."""

from itertools import count
from typing import Any

from django.db.models.functions import Now

from kilit.lock.leases import no_lease
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.models.queryset import failure
from tests.support.lifecycle_conformance import LifecycleConformance, Specimen

NUMBERS = count()


def make(**columns: Any) -> Job:
    """Make a job, with the slot free for it: only one job at a time may be OPTI_RUNNING."""
    Job.objects.filter(status="OPTI_RUNNING").move("fail", **fail())
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


def fail() -> dict[str, Any]:
    return {**failure(JobError(Code.UNKNOWN, "no")), **no_lease()}


class TestJobs(LifecycleConformance):
    specimen = Specimen(
        Job,
        make=make,
        changes={
            "start": lambda: {"opti_started_at": Now(), "attempt_started_at": Now()},
            "collect": lambda: {"xml_sha256": "0" * 64},
            "deliver": lambda: {"handed_at": Now()},
            "finish": lambda: {"finished_at": Now()},
            "hold": lambda: failure(JobError(Code.CRM_NO_MATCH, "nobody")),
            "fail": fail,
            "cancel": fail,
        },
    )
