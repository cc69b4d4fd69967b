"""A worker process that is killed in the middle of an import."""

import signal

import pytest

from ociqueue.models import Conversion, ImportJob
from tests.support.commands import run_python
from tests.support.fixtures.imports import operator, small_steps
from tests.support.imports import HEADER, confirm, good_lines, uploaded, worked
from tests.support.workers import database_url

__all__ = ["operator", "small_steps"]

# It dies after the second batch was stored, and before that is committed.
WORKER = """
import os, signal, sys
import django

django.setup()

from ociqueue.files import import_jobs, import_run, table

import_jobs.CHUNK, table.BATCH = 100, 3
process = import_run.StoringPass.process
done = []


def process_and_die(run, batch, user):
    changes = process(run, batch, user)
    done.append(batch)
    if len(done) == 2 and sys.argv[1] == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    return changes


import_run.StoringPass.process = process_and_die
import_run.work_due()
"""


@pytest.mark.django_db(transaction=True)
def test_a_killed_worker_leaves_whole_batches_and_the_next_goes_on(operator, site) -> None:
    job = worked(uploaded(operator, site, HEADER + good_lines(10)))
    confirm(operator, job)
    settings = {"DJANGO_SETTINGS_MODULE": "tests.settings", "DATABASE_URL": database_url(), "SECRET_KEY": "x"}

    killed = run_python("-c", WORKER, "dies", **settings)
    job.refresh_from_db()
    assert (killed.returncode, job.counts["created"], Conversion.objects.count()) == (-signal.SIGKILL, 3, 3)
    ImportJob.objects.update(lease_until="2020-01-01T00:00Z")  # or it lapses by itself later
    went_on = run_python("-c", WORKER, "lives", **settings)

    job.refresh_from_db()
    assert went_on.returncode == 0, went_on.stderr
    assert (job.status, job.counts["created"], job.counts["duplicates"]) == ("DONE", 10, 0)
    assert Conversion.objects.count() == 10
