"""Where jobs on HOLD wait, for the dashboard: orders by name, and unknown customers with the number of their jobs."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kilit.masking import mask_phone
from kilit.problems.registry import Place
from orchestrator.errors import Code
from orchestrator.models import Job
from orchestrator.states import JobState

LOOKED_AT = 1000
COLUMNS = ("pk", "error_code", "updated_at", "order_id", "customer_phone", "customer_snapshot_name")


@dataclass
class HeldJobs:
    """The oldest jobs on HOLD for one reason; each place leads to the page of its oldest job."""

    since: datetime | None = None
    count: int = 0
    places: list[Place] = field(default_factory=list)

    @classmethod
    def by_code(cls, address: Callable[[Any], str]) -> "dict[str, HeldJobs]":
        rows = Job.objects.filter(status=JobState.HOLD).order_by("id").values_list(*COLUMNS)
        places: dict[str, dict[str, Place]] = {}
        found: dict[str, HeldJobs] = {}
        for pk, code, since, order, phone, name in rows[:LOOKED_AT]:
            held = found.setdefault(code, cls(since))
            held.since, held.count = min(since, held.since or since), held.count + 1
            key, shown = (phone, name or mask_phone(phone)) if code == Code.CRM_NO_MATCH else (order, order)
            here = places.setdefault(code, {})
            before = here.get(key) or Place(shown, 0, address(pk), is_personal=code == Code.CRM_NO_MATCH)
            here[key] = replace(before, count=(before.count or 0) + 1)
        for code, here in places.items():
            found[code].places = [
                replace(place, count=place.count if place.count != 1 else None) for place in here.values()
            ]
        return found
