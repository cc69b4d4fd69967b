"""How many statements a job costs a worker: the caller waits for each."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pdfjobs import work
from pdfjobs.models import PdfJob
from tests.support.pdf_jobs import PDF, new_job

pytestmark = pytest.mark.django_db


def test_a_job_costs_a_worker_six_statements(monkeypatch) -> None:
    monkeypatch.setattr(work, "render_job", lambda _: PDF)
    monkeypatch.setattr(work.doorbells, "ring_now", lambda _: True)
    for number in range(2):
        new_job(number=number)

    with CaptureQueriesContext(connection) as asked:
        work.run_due_jobs()

    assert PdfJob.objects.filter(status="succeeded").count() == 2
    sent = [query["sql"] for query in asked if "SAVEPOINT" not in query["sql"]]
    assert len(sent) == 2 * 6 + 3, sent  # the last claim finds nothing
