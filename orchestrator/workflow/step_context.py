"""What all steps share: the database's clock, this machine's folders, the plan."""

from collections.abc import Callable
from datetime import timedelta
from typing import cast

from django.conf import settings
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from orchestrator.files.folders import Folders
from orchestrator.models import Job
from orchestrator.orders.order import order_from
from orchestrator.planning.excel.template import check_template
from orchestrator.planning.plan import Plan, transform
from orchestrator.planning.rules import current_rules

KeepAlive = Callable[[], None]


def age(job: Job, column: str) -> timedelta:
    """Return the time since a column's timestamp, by the database's clock."""
    since = ExpressionWrapper(Now() - F(column), output_field=DurationField())
    return Job.objects.values_list(since, flat=True).get(pk=job.pk) or timedelta(0)


def folders_here() -> Folders:
    folders = Folders.from_settings()
    folders.prepare()
    return folders


def poll() -> timedelta:
    return timedelta(seconds=settings.FLOOR_POLL)


def format_minutes(span: timedelta) -> str:
    return f"{span.total_seconds() / 60:g} min"


def plan_for(job: Job, folders: Folders) -> Plan:
    """Return the rows to cut by the current rules; reused from the previous step unless the rules changed."""
    rules = current_rules()
    if job.planned and job.planned[0] is rules:
        check_template(folders.template)
    else:
        job.planned = rules, transform(order_from(job.payload), rules, template=folders.template)
    return cast("Plan", job.planned[1])
