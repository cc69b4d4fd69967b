"""A job is planned once while a runner takes its steps, by the rules of the moment all the same."""

from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orchestrator.errors import JobError
from orchestrator.models import Job
from orchestrator.workflow.steps import plan_for
from tests.support.cutting_jobs import make_job

pytestmark = pytest.mark.django_db


def test_the_second_step_takes_the_plan_of_the_first(floor) -> None:
    job = make_job()

    assert plan_for(job, floor) is plan_for(job, floor)
    assert plan_for(Job.objects.get(), floor) is not plan_for(job, floor)


def test_rules_that_changed_between_two_steps_make_another_plan(floor, rules_file: Path) -> None:
    job = make_job()
    before = plan_for(job, floor)
    rules_file.write_text(rules_file.read_text().replace('"18": 10', '"18": 12'))

    after = plan_for(job, floor)

    assert "TRIM_10.00" in before.batches[0].rows[0].idesc
    assert "TRIM_12.00" in after.batches[0].rows[0].idesc


def test_a_template_that_broke_between_two_steps_is_noticed(floor, settings, tmp_path: Path) -> None:
    job = make_job()
    plan_for(job, floor)
    broken = tmp_path / "broken.xlsx"
    broken.write_bytes(b"no template")
    settings.OPTI_TEMPLATE = broken

    with pytest.raises(JobError, match="template"):
        plan_for(job, type(floor).from_settings())


def test_an_order_is_not_read_again_with_its_row(floor) -> None:
    job = make_job()
    order = job.payload

    with CaptureQueriesContext(connection) as asked:
        job.refresh_from_db()

    assert all('"payload"' not in query["sql"] for query in asked)
    assert job.payload is order
