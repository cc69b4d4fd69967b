"""A browser for all tests here, the demo's rows on a live server, and one visitor per test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser

from kilit.batches.models import BulkAction
from kilit.lock.models import ErrorGroup
from kilit.workers.models import Heartbeat
from ociqueue.demo import DEMO_ACCOUNT, SHOWCASE
from ociqueue.models import Circuit, Credentials, Site
from ociqueue.states import Category, SyncMethod
from orchestrator.errors import Code, JobError
from orchestrator.models import Job
from orchestrator.models.job import failure
from outbox.models import OutboxMessage
from pdfjobs.browser import find_browser
from pdfjobs.models import PdfJob
from tests.support.browsing import Visitor, started_browser
from tests.support.console_pages import House
from tests.support.fixtures.pdf_jobs import _own_store
from tests.support.fixtures.people import load

__all__ = ["_own_store"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run one browser for a file of tests, and no longer: others trip over the loop that this thread then has."""
    if not find_browser():
        pytest.fail("no headless Chromium here; `manage.py browser` gets one, and `make test` runs it first")
    with started_browser() as started:
        yield started


@pytest.fixture
def house(transactional_db: None, tmp_path: Path) -> House:
    logins = load(tmp_path)
    Heartbeat.objects.create(name="here")
    site = Site.objects.get(name=SHOWCASE)
    held = Job.objects.get(order_id="DEMO-1004")
    held.move("hold", **failure(JobError(Code.CRM_NO_MATCH, "Nobody has the phone +905360001122.")))
    circuit = Circuit.objects.trip(
        Site.objects.get(sync_method=SyncMethod.API), code="NO_ACCESS", category=Category.AUTH, reason="No access."
    )
    # One site without credentials is enough: another line would fold the problems that tests look for.
    Credentials.objects.store(Site.objects.get(sync_method=SyncMethod.DATA_MANAGER), DEMO_ACCOUNT)
    ErrorGroup.objects.fold()
    viewer, operator = Client(), Client()
    viewer.force_login(User.objects.get(username="demo-viewer"))
    viewer.post(f"/admin/ociqueue/conversion/{site.conversions.earliest('pk').pk}/retry/")  # refused, and written down
    operator.force_login(User.objects.get(username="demo-operator"))
    operator.post("/admin/ociqueue/conversion/all/retry/?code=UPLOAD_EXCEPTION", {"reason": "It was a passing fault."})
    return House(
        site=site,
        failed=site.conversions.filter(status="FAILED", provider_error_category=Category.TRANSIENT).earliest("pk"),
        held=held,
        broken=PdfJob.objects.get(status="failed"),
        bulk=BulkAction.objects.get(),
        circuit=circuit,
        unsent=OutboxMessage.objects.filter(status="FAILED").earliest("pk"),
        person=User.objects.get(username="demo-operator"),
        logins=logins,
    )


@pytest.fixture
def visitor(browser: Browser, house: House, live_server: Any) -> Iterator[Visitor]:
    coming = Visitor(browser, live_server.url)
    try:
        yield coming
        assert coming.faults == []
    finally:
        coming.leave()
