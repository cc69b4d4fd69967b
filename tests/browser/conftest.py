"""A browser for all tests here, the demo's rows on a live server, and one visitor per test."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client, override_settings
from playwright.sync_api import Browser

from config.demo import load_demo
from kilit.bulk.models import BulkAction
from kilit.lock.models import ErrorGroup
from kilit.workers.models import Heartbeat
from ociqueue.demo import SHOWCASE
from ociqueue.models import Circuit, Conversion, Site
from ociqueue.states import Category, SyncMethod
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.models.queryset import failure
from pdfjobs.browser import find_browser
from pdfjobs.models import PdfJob
from tests.support.browsing import Visitor, started_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run one browser for a file of tests, and no longer: others trip over the loop that this thread then has."""
    if not find_browser():
        pytest.fail("no headless Chromium here; `manage.py browser` gets one, and `make test` runs it first")
    with started_browser() as started:
        yield started


@dataclass
class House:
    """What is there to be seen: the demo, jobs that wait for a person, what somebody did in bulk, and was refused."""

    site: Site
    failed: Conversion
    held: Job
    broken: PdfJob
    bulk: BulkAction
    circuit: Circuit
    logins: dict[str, Any]


@pytest.fixture
def house(transactional_db: None, tmp_path) -> House:
    # Only while it is loaded, by a connection that is open: the database is found by the same setting.
    connection.ensure_connection()
    with override_settings(KILIT_VAR=tmp_path):
        logins = load_demo()
    Heartbeat.objects.create(name="here")
    site = Site.objects.get(name=SHOWCASE)
    held = Job.objects.get(order_id="DEMO-1004")
    held.move("hold", **failure(JobError(Code.CRM_NO_MATCH, "Nobody has the phone +905360001122.")))
    circuit = Circuit.objects.trip(
        Site.objects.get(sync_method=SyncMethod.API), code="NO_ACCESS", category=Category.AUTH, reason="No access."
    )
    ErrorGroup.objects.fold()
    viewer, operator = Client(), Client()
    viewer.force_login(User.objects.get(username="demo-viewer"))
    viewer.post(f"/admin/ociqueue/conversion/{site.conversions.first().pk}/retry/")  # refused, and written down
    operator.force_login(User.objects.get(username="demo-operator"))
    operator.post("/admin/ociqueue/conversion/all/retry/?code=UPLOAD_EXCEPTION", {"reason": "It was a passing fault."})
    return House(
        site=site,
        failed=site.conversions.filter(status="FAILED").first(),
        held=held,
        broken=PdfJob.objects.get(status="failed"),
        bulk=BulkAction.objects.get(),
        circuit=circuit,
        logins=logins,
    )


@pytest.fixture
def visitor(browser: Browser, house: House, live_server) -> Iterator[Visitor]:
    coming = Visitor(browser, live_server.url)
    try:
        yield coming
        assert coming.faults == []
    finally:
        coming.leave()
