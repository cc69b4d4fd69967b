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
from tests.support.fixtures.cutting_jobs import floor, rules_file
from tests.support.fixtures.pdf_jobs import _own_store
from tests.support.fixtures.people import load
from tests.support.row_copies import copy_rows, put_back

__all__ = ["_own_store", "floor", "rules_file"]

HELD = "DEMO-1004"  # the order that waits for a person


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Run one browser for a file of tests, and no longer: others trip over the loop that this thread then has."""
    if not find_browser():
        pytest.fail("no headless Chromium here; `manage.py browser` gets one, and `make test` runs it first")
    with started_browser() as started:
        yield started


def fill_house(folder: Path) -> dict[str, Any]:
    """Load the demo, and let something be held, tripped, refused and retried; return the logins."""
    logins = load(folder)
    site = Site.objects.get(name=SHOWCASE)
    Job.objects.get(order_id=HELD).move(
        "hold", **failure(JobError(Code.CRM_NO_MATCH, "Nobody has the phone +905360001122."))
    )
    Circuit.objects.trip(
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
    return logins


@pytest.fixture(scope="module")
def copies() -> dict[str, Any]:
    """The house of a file's first test, for the next ones; not for other files, where it would have aged."""
    return {}


@pytest.fixture
def house(transactional_db: None, tmp_path: Path, copies: dict[str, Any]) -> House:
    if copies:
        put_back(copies["rows"])
    else:
        copies.update(logins=fill_house(tmp_path), rows=copy_rows())
    Heartbeat.objects.create(name="here")
    site = Site.objects.get(name=SHOWCASE)
    return House(
        site=site,
        failed=site.conversions.filter(status="FAILED", provider_error_category=Category.TRANSIENT).earliest("pk"),
        held=Job.objects.get(order_id=HELD),
        broken=PdfJob.objects.get(status="failed"),
        bulk=BulkAction.objects.get(),
        circuit=Circuit.objects.get(code="NO_ACCESS"),
        unsent=OutboxMessage.objects.filter(status="FAILED").earliest("pk"),
        person=User.objects.get(username="demo-operator"),
        logins=copies["logins"],
    )


@pytest.fixture
def visitor(browser: Browser, house: House, live_server: Any) -> Iterator[Visitor]:
    coming = Visitor(browser, live_server.url)
    try:
        yield coming
        assert coming.faults == []
    finally:
        coming.leave()
